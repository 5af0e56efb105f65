package central

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
)

// timepiece is how this machine's clock stands to that of a scheduler, as its last answer has shown.
type timepiece struct {
	now  func() time.Time
	last atomic.Pointer[credential.Clocks] // nil: none had a date
}

// compare takes in an answer that took so long.
func (t *timepiece) compare(resp *http.Response, took time.Duration) {
	if c := credential.ClocksByAnswer(resp, t.now, took); c != nil {
		t.last.Store(c)
	}
}

// wrong is what is known of clocks that differ; nil: they agree, as far as is known.
func (t *timepiece) wrong(endpoint string) *credential.Finding {
	if s := t.last.Load(); s.Ahead() != 0 {
		return s.Finding(endpoint)
	}
	return nil
}

// blame says where a credential was refused that the clocks differ by more than credentials bear, and which way: that is why, most
// likely.
func (t *timepiece) blame(e *plugins.Error) {
	if f := t.wrong(e.Endpoint); f != nil && f.Severity == credential.Problem {
		e.Kind, e.Err, e.Hint = plugins.Credential, f, fmt.Sprintf("%s [%s]: %s", f.What, f.ID, f.Mend)
	}
}
