package central

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
)

// A refusal is put down to clocks where they differ by more than credentials bear, and to nothing where they agree or no date is told.
func TestRefusalsThatClocksMade(t *testing.T) {
	now := time.Now()
	for off, blamed := range map[time.Duration]bool{0: false, time.Minute: false, -time.Minute: false, 6 * time.Minute: true, -6 * time.Minute: true} {
		c := &client{endpoint: "grid://h:1", set: &credential.Set{}, clock: timepiece{now: func() time.Time { return now.Add(off) }}}
		resp := &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{"Date": {now.UTC().Format(http.TimeFormat)}}}
		c.clock.compare(resp, 0)
		err := c.verdict("submit", resp, []byte("who are you?"))
		f, told := errors.AsType[*credential.Finding](err)
		if told != blamed || told && f.ID != "clock.skew" {
			t.Errorf("%v: %v", off, err)
		}
		if e, ok := errors.AsType[*plugins.Error](err); !ok || e.Kind != plugins.Credential {
			t.Errorf("%v: %v", off, err)
		}
		c.clock.last.Store(nil)
		c.clock.compare(&http.Response{Header: http.Header{"Date": {"yesterday"}}}, 0)
		if f := c.clock.wrong(c.endpoint); f != nil {
			t.Error(f)
		}
	}
}
