package turns

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// One asker's third question waits while another's first does not; it is
// answered when a turn ends, and nothing is kept of those who have gone.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all Turns
		first, second := all.Take(t.Context(), "a", 2), all.Take(t.Context(), "a", 2)
		var third atomic.Bool
		go func() {
			end := all.Take(t.Context(), "a", 2)
			third.Store(true)
			end()
		}()
		synctest.Wait()
		if third.Load() {
			t.Fatal("a third turn at once")
		}
		other := all.Take(t.Context(), "b", 2)
		first()
		first() // no turn of another is ended by one that ends twice
		synctest.Wait()
		if !third.Load() {
			t.Fatal("who waits got no turn that had ended")
		}
		second()
		other()
		if len(all.of) != 0 {
			t.Errorf("kept of askers who have gone: %d", len(all.of))
		}
	})
}

// Who goes while he waits has no turn, takes none from others, and is forgotten.
func TestWhoGoesHasNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all Turns
		end := all.Take(t.Context(), "a", 1)
		ctx, cancel := context.WithCancel(t.Context())
		var gone atomic.Bool
		go func() { gone.Store(all.Take(ctx, "a", 1) == nil) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !gone.Load() {
			t.Fatal("a turn for one who has gone")
		}
		end()
		for range 100 { // a select would sometimes take the place that is free
			if all.Take(ctx, "a", 1) != nil {
				t.Fatal("a turn for one who had gone before he asked")
			}
		}
		if len(all.of) != 0 {
			t.Errorf("kept of askers who have gone: %d", len(all.of))
		}
	})
}

// Addresses of one machine are one asker, whatever its port, zone or way of writing.
func TestAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:1234":                   "192.0.2.7",
		"[::ffff:192.0.2.7]:1":             "192.0.2.7",
		"[2001:db8:1:2:3:4:5:6]:9":         "2001:db8:1:2::",
		"[2001:db8:1:2:ffff::1]:80":        "2001:db8:1:2::",
		"[2001:db8:1:3::1]:80":             "2001:db8:1:3::",
		"[fe80::1%eth0]:80":                "fe80::",
		"":                                 "",
		"@":                                "",
		"/run/agent.socket":                "",
		"ce.example.org:80":                "",
		"192.0.2.7":                        "",
		"192.0.2.7:123456":                 "",
		"[2001:db8:1:2:3:4:5:6%\x00x]:900": "2001:db8:1:2::",
	} {
		if got := Address(remote); got != want {
			t.Errorf("%q: %q, want %q", remote, got, want)
		}
	}
}

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.0/24", "2001:db8:1:2::": "2001:db8:1::/48", "": "", "7": "7",
	} {
		if got := Network(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
