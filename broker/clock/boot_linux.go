package clock

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// boot is this boot's id, "" where it cannot be read.
var boot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})

// awake is told with a name of its own: programs before it counted sleep, too.
func awake() (start string, up time.Duration, ok bool) {
	var t unix.Timespec
	if boot() == "" || unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return "", 0, false
	}
	return boot() + " awake", time.Duration(t.Nano()), true
}
