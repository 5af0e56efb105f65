package scheduler

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// While a scheduler is upgraded an older replica may lead, and write jobs of which it does not know all that the newer ones
// say. It keeps that as it was: the fields of a job, not of what is in them, as a place is always one replica's own.

// ours are the names of the fields of a job that this program knows.
func ours() map[string]bool {
	known := map[string]bool{}
	for f := range reflect.TypeFor[Job]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			known[name] = true
		}
	}
	return known
}

// decodeJob reads a job, with what of it this program does not know.
func decodeJob(body []byte, j *Job) error {
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	if strict.Decode(j) == nil {
		return nil
	}
	*j = Job{Seq: j.Seq}
	if err := json.Unmarshal(body, j); err != nil {
		return err
	}
	if err := json.Unmarshal(body, &j.unknown); err != nil {
		return err
	}
	known := ours()
	maps.DeleteFunc(j.unknown, func(name string, _ json.RawMessage) bool { return known[name] })
	return nil
}

// encodeJob writes it.
func encodeJob(j *Job) ([]byte, error) {
	body, err := json.Marshal(j)
	if err != nil || len(j.unknown) == 0 {
		return body, err
	}
	more, err := json.Marshal(j.unknown)
	return slices.Concat(body[:len(body)-1], []byte(","), more[1:]), err
}
