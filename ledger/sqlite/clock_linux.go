package sqlite

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// thisMachine has CLOCK_BOOTTIME, which runs through suspend and cannot be set.
func thisMachine() (machine, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return machine{}, fmt.Errorf("read the boot's id: %w", err)
	}
	if _, err := sinceBoot(); err != nil {
		return machine{}, fmt.Errorf("read the boot clock: %w", err)
	}
	return machine{
		boot: strings.TrimSpace(string(id)),
		since: func() time.Duration {
			d, _ := sinceBoot() // a clock that could be read once can be read again
			return d
		},
		wall: time.Now,
	}, nil
}

func sinceBoot() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}
