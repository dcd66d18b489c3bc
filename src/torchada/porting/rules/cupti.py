"""CUPTI: cuptiActivityEnable, CUPTI_SUCCESS, CUpti_Activity."""

from torchada.porting.rules.library import Library

CUPTI = Library(
    "CUPTI",
    names=(r"cupti(?:[A-Z]\w*)?", r"_*CUPTI\w*", r"CUpti\w+", r"CuptiUtil\w+"),
    spellings={"cupti": "mupti", "CUPTI": "MUPTI", "CUpti": "MUpti", "Cupti": "Mupti"},
    words={
        "CUPTI_ACTIVITY_FLAG_DEVICE_ATTRIBUTE_CUDEVICE": "MUPTI_ACTIVITY_FLAG_DEVICE_ATTRIBUTE_MUDEVICE",
        "CUPTI_CBID_NVTX_nvtxNameCuContextA": "MUPTI_CBID_MTTX_mttxNameMuContextA",
        "CUPTI_CBID_NVTX_nvtxNameCuContextW": "MUPTI_CBID_MTTX_mttxNameMuContextW",
        "CUPTI_CBID_NVTX_nvtxNameCuDeviceA": "MUPTI_CBID_MTTX_mttxNameMuDeviceA",
        "CUPTI_CBID_NVTX_nvtxNameCuDeviceW": "MUPTI_CBID_MTTX_mttxNameMuDeviceW",
        "CUPTI_CBID_NVTX_nvtxNameCuEventA": "MUPTI_CBID_MTTX_mttxNameMuEventA",
        "CUPTI_CBID_NVTX_nvtxNameCuEventW": "MUPTI_CBID_MTTX_mttxNameMuEventW",
        "CUPTI_CBID_NVTX_nvtxNameCuStreamA": "MUPTI_CBID_MTTX_mttxNameMuStreamA",
        "CUPTI_CBID_NVTX_nvtxNameCuStreamW": "MUPTI_CBID_MTTX_mttxNameMuStreamW",
        "CUPTI_DEVICE_ATTR_NVSWITCH_PRESENT": "MUPTI_DEVICE_ATTR_MTSWITCH_PRESENT",
        "CUPTI_DRIVER_TRACE_CBID_cuEventCreateFromNVNSync": "MUPTI_DRIVER_TRACE_CBID_muEventCreateFromMTNSync",
        "CUPTI_DRIVER_TRACE_CBID_cuNVNbufferGetPointer": "MUPTI_DRIVER_TRACE_CBID_muMTNbufferGetPointer",
        "CUPTI_DRIVER_TRACE_CBID_cuNVNtextureGetArray": "MUPTI_DRIVER_TRACE_CBID_muMTNtextureGetArray",
        "CUpti_NvtxData": "MUpti_MttxData",
    },
    header_names=(r"cupti\w*\.h",),
)
