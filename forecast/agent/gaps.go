package agent

import (
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// Gaps cuts the free time of nodes into the slots that an agent publishes, as
// seen at a time.
func Gaps(steps []batch.Slot, now time.Time, c Chances) []wire.Slot { return gaps(steps, now, c) }
