package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/glue"
)

// TestSubjects: which resources a service that the configuration names tells about, and
// which entries name none.
func TestSubjects(t *testing.T) {
	r := &glue.Resource{Name: "CE1-batch", ID: "ce1.example.org:8443/nordugrid-slurm/batch", Site: "North", CE: "ce1.example.org"}
	for entry, about := range map[string]bool{
		"https://ce1.example.org/q":                                 true, // its own host
		"https://CE1.example.org:8443/q":                            true,
		"https://ce2.example.org/q":                                 false,
		"https://user@ce1.example.org/q?a=b":                        true,
		"*=https://else.example.org/q":                              true,
		"north=https://else.example.org/q":                          true,
		"NORTH=https://else.example.org/q":                          true,
		"nor*=https://else.example.org/q":                           true,
		"south=https://else.example.org/q":                          false,
		"ce1-*=https://else.example.org/q":                          true,
		"ce[12].*=https://else.example.org/q":                       true,
		"ce[34].*=https://else.example.org/q":                       false,
		"ce1=https://ce1.example.org/q":                             false, // the pattern counts, not the host
		"ce1.example.org:8443/nordugrid-slurm/batch=https://else/q": true,
		"a=http://else/q?x=y":                                       false,
	} {
		s, err := ParseSubject(entry, "http", "https")
		if err != nil {
			t.Errorf("%s: %v", entry, err)
			continue
		}
		if s.About(r) != about {
			t.Errorf("%s: about it: %v, want %v", entry, !about, about)
		}
		if strings.Contains(s.URL, "*") || !strings.HasPrefix(s.URL, "http") {
			t.Errorf("%s: the service is %s", entry, s.URL)
		}
		if slashed := s.About(&glue.Resource{ID: "ce:8443/queue"}); slashed != strings.HasPrefix(entry, "*=") {
			t.Errorf("%s: about an ID with a slash: %v", entry, slashed)
		}
		if s.About(&glue.Resource{}) != strings.HasPrefix(entry, "*=") && s.About(&glue.Resource{}) {
			t.Errorf("%s is about what has no name", entry)
		}
	}
	for _, entry := range []string{"", "=https://h/q", "[=https://h/q", "ftp://h/q", "x=ftp://h/q", "https://", "x=", "north", "https://[::1/q", "%=https://%zz/"} {
		if s, err := ParseSubject(entry, "http", "https"); err == nil {
			t.Errorf("%q was taken: %+v", entry, s)
		} else if entry != "https://[::1/q" && entry != "%=https://%zz/" && !strings.Contains(err.Error(), entry) {
			t.Errorf("%q: %v does not name it", entry, err)
		}
	}
}

// TestAbout: every service is asked once, about all of its resources and no others, and
// what one says beside an error counts; the first entry that is about a resource names its
// service.
func TestAbout(t *testing.T) {
	var subjects []Subject
	for _, entry := range []string{"a*=https://one/", "*b=https://two/", "broken=https://three/"} {
		s, err := ParseSubject(entry, "https")
		if err != nil {
			t.Fatal(err)
		}
		subjects = append(subjects, s)
	}
	var rs []*glue.Resource
	for _, name := range []string{"a1", "ab", "xb", "broken", "nobody"} {
		rs = append(rs, &glue.Resource{ID: name, Name: name})
	}
	var asked atomic.Int32
	down := errors.New("down")
	got, err := About(t.Context(), &Client{}, rs, func(r *glue.Resource) string { return Named(subjects, r) },
		func(_ context.Context, service string, about []*glue.Resource) (map[string]string, error) {
			asked.Add(1)
			said := map[string]string{}
			for _, r := range about {
				said[r.ID] = service
			}
			if service == "https://three/" {
				return said, down
			}
			return said, nil
		})
	want := map[string]string{"a1": "https://one/", "ab": "https://one/", "xb": "https://two/", "broken": "https://three/"}
	if !errors.Is(err, down) || asked.Load() != 3 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d services asked: %v, want %v; %v", asked.Load(), got, want, err)
	}
}

// TestEachWithinItsBounds: no more questions than allowed are under way at once, each key
// gets its turn, and when the time is over those that had none say so.
func TestEachWithinItsBounds(t *testing.T) {
	var keys []string
	for i := range 50 {
		keys = append(keys, fmt.Sprintf("https://host%02d/secret?token=%d", i, i))
	}
	for _, atOnce := range []int{1, 3, 0} {
		most := int32(atOnce)
		if atOnce == 0 {
			most = 16
		}
		var now, peak, done atomic.Int32
		err := (&Client{AtOnce: atOnce}).Each(t.Context(), keys, func(context.Context, string) error {
			if n := now.Add(1); n > peak.Load() {
				peak.Store(n)
			}
			time.Sleep(100 * time.Microsecond)
			defer now.Add(-1)
			done.Add(1)
			return nil
		})
		if err != nil || done.Load() != 50 || peak.Load() > most {
			t.Errorf("%d at once: %d done, %d at the same time, %v", atOnce, done.Load(), peak.Load(), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var turns atomic.Int32
	err := (&Client{AtOnce: 1}).Each(ctx, keys, func(ctx context.Context, _ string) error {
		turns.Add(1)
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "token=") {
		t.Errorf("cancelled: %v", err)
	}
	if lines := slices.Collect(strings.Lines(err.Error())); len(lines)+int(turns.Load()) != 50 {
		t.Errorf("%d had their turn and %d say that they had none, of 50", turns.Load(), len(lines))
	}
}
