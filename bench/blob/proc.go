package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc: 1/100 s on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// processorTime is what a process has taken so far, in user mode and in the
// kernel; 0 if it is gone.
func processorTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The second field is the program's name in parentheses, which may itself
	// have spaces and parentheses. utime and stime are the fields 14 and 15.
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')'):]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

// residentMemory is VmRSS, in bytes.
func residentMemory(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(status), "VmRSS:")
	var kib int
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); !found || err != nil {
		return 0, fmt.Errorf("process %d has no VmRSS: %w", pid, err)
	}
	return kib << 10, nil
}
