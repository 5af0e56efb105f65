//go:build !linux

package clock

import "time"

func awake() (start string, up time.Duration, ok bool) { return "", 0, false }
