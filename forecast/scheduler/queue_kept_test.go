package scheduler

import (
	"encoding/json"
	"fmt"
	"testing"
)

// bodyOf is what the table has of a job.
func (w *world) bodyOf(id string) (body map[string]any) {
	w.t.Helper()
	var text []byte
	if err := w.store.db.QueryRow("select body from queue where id = $1", id).Scan(&text); err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &body); err != nil {
		w.t.Fatal(err)
	}
	return body
}

// A newer program has written more of a job than this one knows. This one leads meanwhile, changes the job and takes out a field
// that it knows; what it does not know is there as it was, to the job's end.
func TestFieldsOfNewerProgramsAreKept(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	w.step(30)
	id := w.submit("alice", "k", 600)
	w.steered(id, true, 1)
	body := w.bodyOf(id)
	body["of_newer"], body["newer_too"] = map[string]any{"a": []any{1.5, "x"}}, true
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.db.Exec("update queue set body = $2 where id = $1", id, string(text)); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.step(1)
	if body := w.bodyOf(id); body["on_hold"] != true {
		t.Fatal("the job is not held: ", body)
	}
	w.ran(id, 1)
	body = w.bodyOf(id)
	if fmt.Sprint(body["of_newer"]) != "map[a:[1.5 x]]" || body["newer_too"] != true {
		t.Errorf("of what a newer program wrote there is %v, %v", body["of_newer"], body["newer_too"])
	}
	if body["on_hold"] != nil || body["state"] != "done" {
		t.Errorf("on hold %v, %v", body["on_hold"], body["state"])
	}
}
