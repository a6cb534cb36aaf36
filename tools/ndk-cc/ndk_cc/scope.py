# SPDX-License-Identifier: MIT
"""What Windows' kernel has and OpenNDK does not intend to have: docs/driver-differences.md, "Out of scope"."""
import re

DOCUMENT = 'docs/driver-differences.md, "Out of scope"'

# What it is called, the names of its routines and types, its headers. The first match counts.
FAMILIES = (
    ('minifilters', r'Flt(?!\w*PushLock)[A-Z]\w*|PFLT_\w+|FLT_\w+', r'fltkernel\.h|fltuser\w*\.h'),
    ('file systems', r'FsRtl\w+|P?FSRTL_\w+|Cc[A-Z]\w+|IoRegisterFileSystem|IoUnregisterFileSystem|IoRegisterFsReg\w+|'
     r'P?NOTIFY_SYNC|P?FILE_LOCK|P?OPLOCK|P?SECTION_OBJECT_POINTERS|P?CACHE_MANAGER_CALLBACKS', r'a^'),
    ('WFP callouts', r'Fwp[msk]?[A-Z]?\w*|FWP[MS]?_\w+|FwpsCallout\w*', r'fwp\w*\.h'),
    ('NDIS drivers', r'Ndis(?!MoveMemory|ZeroMemory|EqualMemory|FillMemory)[A-Z]\w*|NET_BUFFER\w*|PNET_BUFFER\w*|'
     r'NDIS_(?:MINIPORT|FILTER|PROTOCOL|OID|STATUS_INDICATION)\w*', r'ndis\w*\.h|net(?:adapter|ring|packet)\w*\.h'),
    ('WMI and event tracing', r'IoWMI\w*|WdfWmi\w*|WDFWMI\w+|P?WDF_WMI_\w+|Wmi[A-Z]\w*|WMI\w+|'
     r'Etw[A-Z]\w*|StorPortEtw\w*', r'wmi\w*\.h|evnt\w*\.h|hba\w*\.h|stortrce\.h'),
    ('power management', r'Po(?!CallDriver|StartNextPowerIrp)[A-Z]\w*|PoFx\w*|PO_FX_\w+|'
     r'WdfDevice(?!InitSet(?:PnpPower|PowerPageable|PowerNot|PowerPolicyOw))\w*(?:Power|Wake|Idle)\w*|'
     r'P?WDF_(?!PNPPOWER_EVENT_|POWER_DEVICE_STATE)\w*POWER\w*|P?WDF_DEVICE_\w*(?:WAKE|IDLE)\w*',
     r'poclass\.h|wdmguid_po\.h'),
    ('DMA', r'IoGetDmaAdapter|\w*DmaAdapter|\w*ScatterGather\w*|WdfDma\w*|WdfCommonBuffer\w*|WDF_?DMA\w*|'
     r'P?DMA_ADAPTER|P?DMA_OPERATIONS|P?SCATTER_GATHER_LIST|HalAllocate\w*|\w*MapRegisters', r'dma\w*\.h'),
    ('hardware', r'IoConnectInterrupt\w*|IoDisconnectInterrupt\w*|KeSynchronizeExecution|Hal[A-Z]\w*|'
     r'(?:READ|WRITE)_(?:PORT|REGISTER)_\w+|MmMapIoSpace\w*|MmUnmapIoSpace|WdfInterrupt\w*|WdfIoResourceList\w*|'
     r'P?WDF_?INTERRUPT\w*|WDFUSB\w*|P?WDF_USB_\w+|WDFIORES\w*|P?CM_RESOURCE_\w+|'
     r'P?IO_RESOURCE_\w+|P?KINTERRUPT|'
     r'(?:Usb|USB|Gpio|Spb|Hid|HID|WdfUsb|Acpi|Pci|PCI)[A-Z_]\w*', r'usb\w*\.h|hid\w*\.h|acpi\w*\.h|spb\w*\.h|'
     r'wdfusb\.h|gpio\w*\.h|pci\w*\.h|poclass\.h|ks\w*\.h|portcls\.h|d3d\w*\.h|disp\w*\.h|bth\w*\.h|video\w*\.h'),
    ('processes', r'PsSet(?:CreateThread|LoadImage)Notify\w*|PsRemove\w*NotifyRoutine\w*|P?IMAGE_INFO|'
     r'ObRegisterCallbacks|ObUnRegisterCallbacks|ObGetFilterVersion|'
     r'P?OB_(?:CALLBACK|OPERATION|PRE|POST)_\w+|PsLookupThread\w+|KeStackAttachProcess|KeUnstackDetachProcess|'
     r'P?K?APC_STATE|MmCopyVirtualMemory|ZwOpenProcess|ZwOpenThread|ZwTerminateProcess|ZwQueryInformationProcess|'
     r'ZwQuerySystemInformation|PsGetProcess(?!Id\b)[A-Z]\w+', r'ntimage\.h|peb\w*\.h'),
    ('TDI', r'Tdi[A-Z]\w*|P?TDI_\w+', r'tdi\w*\.h'),
    ('plug and play', r'IoInvalidateDevice\w*|IoReportDevice\w*|IoReportDetected\w*|IoReportTarget\w*|'
     r'IoRegisterPlugPlay\w*|IoUnregisterPlugPlay\w*|IoRequestDeviceEject\w*|WdfFdo(?!InitWdmGet)\w*|WdfPdo\w*|'
     r'WdfChildList\w*|'
     r'WDFCHILDLIST|P?WDF_CHILD_\w+|WdfDeviceSetDeviceInterfaceStateEx|WdfDeviceSetDeviceState|'
     r'WdfDevice(?:Add|Get|Query)\w*(?:Interface|Usage|Removal|PhysicalDevice)\w*|'
     r'P?WDF_(?:QUERY_INTERFACE|PDO|FDO)_\w+|WdfDeviceInitSetFilter|EVT_WDF_CHILD_\w+',
     r'wdfbus\.h'),
)


def family(name):
    """Returns what the routine, type or header belongs to that is out of scope; None if it is in scope."""
    column = 2 if name.lower().endswith('.h') else 1
    for entry in FAMILIES:
        if re.fullmatch(entry[column], name.rpartition('/')[2].lower() if column == 2 else name):
            return entry[0]
    return None


def message(name, what):
    return f'{name}: belongs to {what}, which OpenNDK does not have ({DOCUMENT}): leave this part out of the build'
