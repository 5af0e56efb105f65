package cli

import (
	"errors"

	"gridbroker/broker"
	"gridbroker/jobs"
)

// tellSame says how jobs get to where they were tried, if nothing else is left for them.
func tellSame(d *deps, rs []*jobs.Outcome) {
	for _, o := range rs {
		if none, ok := errors.AsType[*broker.NoMatchError](o.Err); ok && none.Tried() {
			sayErr(d, "resources where a job was tried are left out; --same sends it there again")
			return
		}
	}
}
