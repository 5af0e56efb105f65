package jobs

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"gridbroker/plugins"
)

// FuzzDecode holds the decoder of records against the standard library's: what that
// takes is taken and means the same, what it refuses is refused.
func FuzzDecode(f *testing.F) {
	code, now := 3, time.Date(2026, 11, 1, 12, 0, 0, 5e8, time.UTC)
	full, _, err := encode(&Record{ID: "1m81m5y0p00001", Name: "scan \"1\" <&> \u2028 é", State: plugins.Done, ExitCode: &code, After: []string{"a", ""}, Created: now, Ended: now.Add(time.Hour),
		WallTime: 90 * time.Minute, MaxMemory: 1 << 40, Handle: plugins.Handle{ID: "7", Endpoint: "https://ce.example.org"}, Past: []Past{{Number: 1, State: plugins.Lost}},
		Choices: []Choice{{Resource: "r", Score: 1e-7}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	for _, text := range []string{`{}`, `null`, ` {"id":"x"} `, `{"ID":"x","Id":"y"}`, `{"id":"a","id":"b"}`, `{"id":null,"past":null,"exit_code":null}`, `{"id":"\ud800"}`, "{\"id\":\"\xff\"}",
		`{"wall_time":1.5}`, `{"wall_time":"1h"}`, `{"retries":9223372036854775808}`, `{"created":"yesterday"}`, `{"past":[{},{"number":"1"}]}`, `{"unknown":{"a":[1,2,{}]},"id":"z"}`, `{"id":"x"`, `{"id":"x"}}`, `[]`, ``,
		`{"choices":[{"score":1e400}]}`, `{"after":{}}`, `{"slots":-0}`, `{"adopted":1}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got, want Record
		gotErr, wantErr := decode(body, "", &got), json.Unmarshal(body, &want)
		if (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v; the standard library says %v", body, gotErr, wantErr)
		}
		if gotErr == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q:\n%+v\n%+v", body, got, want)
		}
	})
}
