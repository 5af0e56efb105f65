package central

import (
	"encoding/json"
	"testing"

	"gridbroker/foreign"
)

// TestWeight: no answer of an honest scheduler is too heavy.
func TestWeight(t *testing.T) {
	out := make([]string, 4000)
	list := viewList{Jobs: make([]view, atOnce)}
	for i := range list.Jobs {
		list.Jobs[i] = view{Output: out, Booking: &place{}, Outlook: &place{}, ExitCode: new(int)}
	}
	text, err := json.Marshal(list)
	if v := foreign.CountValues(text, heavy); err != nil || heavy(v) {
		t.Errorf("%d jobs of %d files weigh %+v, %v", atOnce, len(out), v, err)
	}
}
