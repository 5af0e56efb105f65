package central

import (
	"encoding/json"
	"testing"
)

// TestWeight: values are weighed as they are, whatever stands in texts, and no answer of an honest
// scheduler is too heavy.
func TestWeight(t *testing.T) {
	for text, want := range map[string]int{
		`{}`: 16, `{"jobs":[{},{}]}`: 64, `["a","b" , "c"]`: 18, `[null,null]`: 32, `["a,{[\",\\",0]`: 32, `{"a":1,"b":2}`: 17, `[ , , `: 32, `"`: 0, `\`: 0, ``: 0,
	} {
		if got := weight([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	out := make([]string, 4000)
	list := viewList{Jobs: make([]view, atOnce)}
	for i := range list.Jobs {
		list.Jobs[i] = view{Output: out, Booking: &place{}, Outlook: &place{}, ExitCode: new(int)}
	}
	text, err := json.Marshal(list)
	if err != nil || weight(text) > maxWeight {
		t.Errorf("%d jobs of %d files weigh %d, %v", atOnce, len(out), weight(text), err)
	}
}
