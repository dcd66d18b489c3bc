// What libmtml.so.2 has of MTML's C API: the types in which pymtml (mthreads-ml-py 2.4.3) calls it.
#pragma once

#include <cstdint>

extern "C" {

typedef enum {
  MTML_SUCCESS = 0,
  MTML_ERROR_INVALID_ARGUMENT = 3,
  MTML_ERROR_NOT_SUPPORTED = 4,
  MTML_ERROR_INSUFFICIENT_SIZE = 6,
  MTML_ERROR_NOT_FOUND = 7,
} MtmlReturn;

typedef enum { MTML_BRAND_MTT = 0 } MtmlBrandType;
typedef enum { MTML_TOPOLOGY_INTERNAL = 0, MTML_TOPOLOGY_SINGLE = 1, MTML_TOPOLOGY_SYSTEM = 5 } MtmlDeviceTopologyLevel;
typedef enum { MTML_P2P_STATUS_OK = 0 } MtmlDeviceP2PStatus;
typedef enum { MTML_P2P_CAPS_READ = 0, MTML_P2P_CAPS_WRITE = 1 } MtmlDeviceP2PCaps;

typedef struct MtmlLibrary MtmlLibrary;
typedef struct MtmlSystem MtmlSystem;
typedef struct MtmlDevice MtmlDevice;
typedef struct MtmlGpu MtmlGpu;
typedef struct MtmlMemory MtmlMemory;
typedef struct MtmlVpu MtmlVpu;

typedef struct {
  char sbdf[32];
  unsigned int segment;
  unsigned int bus;
  unsigned int device;
  unsigned int pciDeviceId; // the device's id in the upper 16 bits, the vendor's in the lower ones
  unsigned int pciSubsystemId;
  unsigned int busWidth;
  float pciMaxSpeed;
  float pciCurSpeed;
  unsigned int pciMaxWidth;
  unsigned int pciCurWidth;
  unsigned int pciMaxGen;
  unsigned int pciCurGen;
  int rsvd[6];
} MtmlPciInfo;

typedef struct {
  unsigned int virtCap : 1;
  unsigned int virtRole : 3;
  unsigned int mpcCap : 1;
  unsigned int mpcType : 3;
  unsigned int mtLinkCap : 1;
  unsigned int rsvd : 23;
  unsigned int rsvd2;
} MtmlDeviceProperty;

} // extern "C"
