package slurm

import (
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins"
)

func TestEndings(t *testing.T) {
	var list []batch.Ending
	text := "12|1795309200|1795309500|COMPLETED|n1\n13_4|1795309200|Unknown|RUNNING|n2\n14|None|1795309560|CANCELLED by 0|None assigned\nbad\n||\n||||\n" +
		"15|1795309560|1795309560|CANCELLED by 0|None assigned\n16|1795309200|1795309260|TIMEOUT|n1\n"
	for _, f := range rows(text, "|", 5) {
		if e, ok := ending(f); ok {
			list = append(list, e)
		}
	}
	if len(list) != 4 || !list[3].Failed || list[3].Cancelled || list[0].Failed || list[1].Failed || !list[2].Started.IsZero() || list[0].ID != "12" || list[0].Ended.Sub(list[0].Started) != 5*time.Minute || !list[1].Cancelled || !list[1].Started.IsZero() {
		t.Errorf("%+v", list)
	}
}

// TestEndedWhileItWaited: Slurm gives such a job the time of its end as its start; it
// has not begun, and who moves a job out of a queue may send it elsewhere.
func TestEndedWhileItWaited(t *testing.T) {
	at := time.Unix(1_795_000_000, 0)
	for nodes, began := range map[string]bool{"": false, "None assigned": false, "(null)": false, "n5": true} {
		st := plugins.Status{}
		row{state: "CANCELLED by 0", nodes: nodes, submitted: at.Add(-time.Minute), started: at, ended: at}.fill(&st)
		if st.State != plugins.Cancelled || st.Started.IsZero() == began || st.Ended.IsZero() {
			t.Errorf("on %q: %+v", nodes, st)
		}
	}
}
