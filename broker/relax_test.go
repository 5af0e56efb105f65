package broker_test

import (
	"strings"
	"testing"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
)

// TestRelax: what small changes open is counted exactly, the best come first,
// and a job so changed matches what was promised.
func TestRelax(t *testing.T) {
	memory := func(id string, mb int64, hours int, edit ...func(*glue.Resource)) *glue.Resource {
		return site(id, append(edit, func(r *glue.Resource) {
			r.MainMemory, r.MaxWallTime = glue.Some(mb), glue.Some(time.Duration(hours)*time.Hour)
			r.RuntimeEnvironments = []string{"A", "B"}
		})...)
	}
	busy := func(r *glue.Resource) { r.Waiting, r.FreeSlots = glue.Some[int64](500), glue.Some[int64](0) }
	rs := []*glue.Resource{
		memory("fits", 4096, 48, busy),
		memory("near1", 2000, 48), memory("near2", 2000, 48), memory("near3", 2000, 48), memory("small", 1000, 48),
		memory("short", 4096, 12), memory("both", 2000, 12),
		memory("closed", 2000, 48, func(r *glue.Resource) { r.Serving = glue.Closed }),
		memory("cms", 2000, 48, func(r *glue.Resource) { r.Access = []string{"VO:cms"} }),
	}
	text := `Executable = "/bin/ls"; WallTime = "24h"; RunTimeEnvironment = "A";
Requirements = other.GlueHostMainMemoryRAMSize >= 2048;`
	b := newBroker(func(b *broker.Broker) { b.Policy = rank.Policy{Name: rank.Hybrid} })
	p := plan(t, b, rs, stored(t, text))
	found := b.Relax(&p.Jobs[0])
	var lines []string
	for _, r := range found {
		lines = append(lines, r.String())
	}
	want := []string{
		"other.GlueHostMainMemoryRAMSize >= 2048 (2:16) -> GlueHostMainMemoryRAMSize >= 2000: +3 queues, ",
		"other.GlueHostMainMemoryRAMSize >= 2048 (2:16) -> GlueHostMainMemoryRAMSize >= 1000: +4 queues, ",
		"maximal wall time 24h -> maximal wall time 12h: +1 queue, ",
		"maximal wall time 24h -> maximal wall time 12h and other.GlueHostMainMemoryRAMSize >= 2048 (2:16) -> GlueHostMainMemoryRAMSize >= 2000: +5 queues, ",
	}
	for _, w := range want {
		if !strings.Contains(strings.Join(lines, "\n")+"\n", w) {
			t.Errorf("missing %q in\n%s", w, strings.Join(lines, "\n"))
		}
	}
	if !strings.HasPrefix(lines[0], want[0]) || !strings.HasSuffix(lines[0], " earlier") {
		t.Errorf("first %q", lines[0])
	}
	for _, r := range found {
		if len(r.Changes) == 1 && r.Changes[0].To == "maximal wall time 12h" && (r.Seconds <= 0 || r.Seconds > 13*3600) {
			t.Errorf("a job of 12 hours is said to be done in %.0f s", r.Seconds)
		}
	}
	if found[0].More != 3 || found[0].Sooner < 600 {
		t.Errorf("%+v", found[0])
	}
	for _, l := range lines {
		if strings.Contains(l, "state") || strings.Contains(l, "cms") {
			t.Errorf("nobody can change %q", l)
		}
	}
	changed := plan(t, b, rs, stored(t, strings.Replace(text, "2048", "2000", 1)))
	if got := changed.Jobs[0].Match.Matching(); got != p.Jobs[0].Match.Matching()+found[0].More {
		t.Errorf("%d match after the change", got)
	}
	changed = plan(t, b, rs, stored(t, strings.NewReplacer("2048", "2000", "24h", "12h").Replace(text)))
	if got := changed.Jobs[0].Match.Matching(); got != p.Jobs[0].Match.Matching()+5 {
		t.Errorf("%d match after both changes", got)
	}
}

// TestRelaxTagAndText: tags are left out, texts replaced by published ones.
func TestRelaxTagAndText(t *testing.T) {
	linux := func(id, name string, tags ...string) *glue.Resource {
		return site(id, func(r *glue.Resource) { r.OSName, r.RuntimeEnvironments = name, tags })
	}
	rs := []*glue.Resource{linux("a", "Debian", "X"), linux("b", "Debian", "X"), linux("c", "CentOS", "Y")}
	b := newBroker()
	p := plan(t, b, rs, stored(t, "Executable = \"/bin/ls\"; RunTimeEnvironment = \"X\";\nRequirements = other.GlueHostOperatingSystemName == \"CentOS\";"))
	found := b.Relax(&p.Jobs[0])
	if len(found) == 0 || !strings.Contains(found[0].String(), `GlueHostOperatingSystemName == "Debian": +2 queues`) {
		t.Fatalf("%v", found)
	}
	var without bool
	for _, r := range found {
		without = without || strings.HasPrefix(r.String(), "without X: +1 queue")
	}
	if !without {
		t.Errorf("%v", found)
	}
}

// TestExplainNearestFirst: what one thing keeps away stands before what two do,
// whatever the names.
func TestExplainNearestFirst(t *testing.T) {
	rs := []*glue.Resource{
		site("a", func(r *glue.Resource) { r.Access, r.MainMemory = []string{"VO:cms"}, glue.Some[int64](10) }),
		site("z", func(r *glue.Resource) { r.MainMemory = glue.Some[int64](100) }),
	}
	p := plan(t, newBroker(), rs, newJob(t, "[Requirements = true]"))
	if p.Jobs[0].Err != nil {
		t.Fatal(p.Jobs[0].Err)
	}
	p = plan(t, newBroker(), rs, stored(t, `Executable = "/bin/ls"; Memory = 200;`, func(*jdl.Job) {}))
	x := p.Jobs[0].Match.Explain(nil)
	if x.Rejected[0].ID != "z" || x.Rejected[0].Obstacles != 1 || x.Rejected[1].Obstacles != 2 {
		t.Errorf("%+v", x.Rejected)
	}
}
