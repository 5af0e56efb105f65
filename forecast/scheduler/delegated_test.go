package scheduler

import (
	"errors"
	"testing"
)

// By which authority a job is begun, and by which it is followed: that of its own VO, though it has run out; without a VO that of its
// owner without one as long as it is good, and then what he has delegated last; never begun by another VO's.
func TestAuthorityOfAJob(t *testing.T) {
	all := authorities{own: map[holder]authority{}, last: map[string]authority{}}
	takes := func(owner, vo string, own bool, until, named int64) {
		all.takes(owner, vo, own, authorityOf(until, named, sealSize+1))
	}
	takes("ann", "", true, 100, 0)
	takes("ann", "atlas", true, 100, 0)
	takes("ann", "cms", false, 200, 180)
	takes("bob", "", false, 200, 0)
	takes("eve", "", true, 100, 300)
	for _, c := range []struct {
		owner, vo     string
		now           int64
		begun, follow int64 // until when
		lack          error
	}{
		{"ann", "atlas", 50, 100, 100, nil}, {"ann", "atlas", 150, 100, 100, errExpired},
		{"ann", "", 50, 100, 100, nil}, {"ann", "", 150, 180, 200, nil}, {"ann", "", 190, 180, 200, errNameless},
		{"ann", "lhcb", 50, 0, 200, errOtherVO}, {"bob", "lhcb", 50, 200, 200, nil}, {"bob", "lhcb", 250, 200, 200, errExpired},
		{"eve", "", 50, 100, 100, nil},
	} {
		a, has := all.of(holder{c.owner, c.vo}, c.now)
		if begun := a.toBegin(); !has || a.until != c.follow || begun.until != c.begun || !errors.Is(begun.over(c.now), c.lack) {
			t.Errorf("%s of %q at %d: %v, followed until %d, begun until %d: %v", c.owner, c.vo, c.now, has, a.until, begun.until, begun.over(c.now))
		}
	}
	if _, has := all.of(holder{"joe", ""}, 50); has {
		t.Error("one who has delegated nothing has an authority")
	}
}
