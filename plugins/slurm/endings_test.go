package slurm

import (
	"testing"
	"time"
)

func TestEndings(t *testing.T) {
	list := endings("12|1795309200|1795309500|COMPLETED|n1\n13_4|1795309200|Unknown|RUNNING|n2\n14|None|1795309560|CANCELLED by 0|None assigned\nbad\n||\n||||\n" +
		"15|1795309560|1795309560|CANCELLED by 0|None assigned\n")
	if len(list) != 3 || !list[2].Started.IsZero() || list[0].ID != "12" || list[0].Ended.Sub(list[0].Started) != 5*time.Minute || !list[1].Cancelled || !list[1].Started.IsZero() {
		t.Errorf("%+v", list)
	}
}
