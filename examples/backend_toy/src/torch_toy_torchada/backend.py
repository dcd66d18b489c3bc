"""The toy's descriptor."""

from torchada.backends.descriptor import Backend, Names

TOY = Backend(
    name="toy",
    device_type="toy",
    adapter="torch_toy",
    namespace="toy",
    visible_devices="TOY_VISIBLE_DEVICES",
    names=Names(
        dispatch_keys={
            "CUDA": "PrivateUse1",
            "AutogradCUDA": "AutogradPrivateUse1",
            "AutocastCUDA": "AutocastPrivateUse1",
        }
    ),
)
