/* SPDX-License-Identifier: MIT */
/*
 * Implements the clocks. The performance counter omits the time that the machine has slept. Its frequency is 10 MHz, as
 * usual on Windows.
 */
#include <time.h>

#include "wdm.h"

#include "wdk/ke/clock.h"
#include "wdk/ke/thread.h"

enum { TICK = 156250 }; /* 15.625 ms, the usual interval of Windows' clock */

LARGE_INTEGER KeQueryPerformanceCounter(PLARGE_INTEGER PerformanceFrequency)
{
    if (PerformanceFrequency)
        PerformanceFrequency->QuadPart = CLOCK_UNITS;
    return (LARGE_INTEGER){ .QuadPart = clock_interrupt() };
}

VOID KeQuerySystemTime(PLARGE_INTEGER CurrentTime)
{
    CurrentTime->QuadPart = clock_system();
}

VOID KeQuerySystemTimePrecise(PLARGE_INTEGER CurrentTime)
{
    CurrentTime->QuadPart = clock_system();
}

ULONGLONG KeQueryInterruptTime(VOID)
{
    return (ULONGLONG)clock_units(CLOCK_BOOTTIME);
}

ULONG64 KeQueryInterruptTimePrecise(PULONG64 QpcTimeStamp)
{
    *QpcTimeStamp = (ULONG64)clock_interrupt();
    return KeQueryInterruptTime();
}

/* Returns the interrupt time without the time that the machine has slept. */
ULONGLONG KeQueryUnbiasedInterruptTime(VOID)
{
    return (ULONGLONG)clock_interrupt();
}

VOID KeQueryTickCount(PLARGE_INTEGER TickCount)
{
    TickCount->QuadPart = clock_units(CLOCK_BOOTTIME) / TICK;
}

ULONG KeQueryTimeIncrement(VOID)
{
    return TICK;
}

VOID KeStallExecutionProcessor(ULONG MicroSeconds)
{
    int64_t end = clock_interrupt() + (int64_t)MicroSeconds * 10;

    while (clock_interrupt() < end)
        continue;
}

/* Returns the difference of local time and universal time at the given system time, in the host's time zone. */
static int64_t local_time_offset(int64_t system)
{
    time_t seconds = (time_t)((system - CLOCK_1970) / CLOCK_UNITS);
    struct tm local;

    return localtime_r(&seconds, &local) ? local.tm_gmtoff * CLOCK_UNITS : 0;
}

VOID ExSystemTimeToLocalTime(PLARGE_INTEGER SystemTime, PLARGE_INTEGER LocalTime)
{
    LocalTime->QuadPart = SystemTime->QuadPart + local_time_offset(SystemTime->QuadPart);
}

VOID ExLocalTimeToSystemTime(PLARGE_INTEGER LocalTime, PLARGE_INTEGER SystemTime)
{
    int64_t about = LocalTime->QuadPart - local_time_offset(LocalTime->QuadPart);

    SystemTime->QuadPart = LocalTime->QuadPart - local_time_offset(about);
}
