package tags

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/environment"
	"gridbroker/glue"
)

func at() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }

func newStore(t *testing.T) *Store { return &Store{Dir: filepath.Join(t.TempDir(), "tags"), Now: at} }

func owner() Caller { return Caller{User: "admin", UID: os.Getuid()} }

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		vo, name string
		ok       bool
	}{
		{"", "VEE-Debian11", true}, {"", "VO-cms-x", false}, {"", "a b", false}, {"cms", "VO-cms-CMSSW_14", true},
		{"cms", "vo-CMS-x", true}, {"cms", "VO-atlas-x", false}, {"cms", "VO-cms-", false}, {"cms", "VEE-x", false},
	} {
		if err := check(tt.vo, tt.name); (err == nil) != tt.ok {
			t.Errorf("%q of %q: %v", tt.name, tt.vo, err)
		}
	}
}

// A VO whose name begins another's does not write the other's tags, which begin alike.
func TestTagsOfAVOWhoseNameGoesOn(t *testing.T) {
	s := newStore(t)
	tag := func(name string) []Tag { return []Tag{{Name: name, State: Installable}} }
	if err := s.Add(t.Context(), owner(), "vo.france", tag("VO-vo.france-grilles.fr-early")); err != nil {
		t.Fatal(err) // nobody has heard of the other
	}
	if err := s.Add(t.Context(), owner(), "vo.france-grilles.fr", tag("VO-vo.france-grilles.fr-early")); err == nil {
		t.Error("one tag of two VOs")
	}
	if err := s.Add(t.Context(), owner(), "vo.france-grilles.fr", tag("VO-vo.france-grilles.fr-A")); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), owner(), "vo.france", tag("VO-vo.france-grilles.fr-B")); err == nil || !strings.Contains(err.Error(), "VO vo.france-grilles.fr") {
		t.Errorf("another VO's tag: %v", err)
	}
	writers := "[vo.\"vo.france-x\"]\ngroups = [\"x\"]\n"
	if err := os.WriteFile(filepath.Join(s.Dir, "writers.toml"), []byte(writers), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), owner(), "vo.france", tag("VO-vo.france-x-B")); err == nil {
		t.Error("a tag of a VO that has none yet")
	}
	if err := s.Add(t.Context(), owner(), "vo.france", tag("VO-vo.france-C")); err != nil {
		t.Error(err)
	}
	if err := s.Remove(t.Context(), owner(), "vo.france", []string{"VO-vo.france-grilles.fr-early"}); err != nil {
		t.Error(err)
	}
}

func TestChangesAreWholeAndKept(t *testing.T) {
	s := newStore(t)
	add := func(vo string, names ...string) error {
		var list []Tag
		for _, n := range names {
			list = append(list, Tag{Name: n, State: Installable})
		}
		return s.Add(t.Context(), owner(), vo, list)
	}
	if err := add("", "VEE-B", "VEE-A"); err != nil {
		t.Fatal(err)
	}
	if err := add("", "VEE-C", "bad!"); err == nil {
		t.Error("a bad name was added")
	}
	if err := add("", "VEE-D", "vee-a"); err == nil || !strings.Contains(err.Error(), "case alone") {
		t.Error(err)
	}
	if err := s.Remove(t.Context(), owner(), "", []string{"VEE-A", "VEE-Z"}); err == nil {
		t.Error("an absent tag was removed")
	}
	if err := add("../x", "VO-../x-y"); err == nil {
		t.Error("a VO that climbs")
	}
	if err := s.SetState(t.Context(), owner(), "", "VEE-A", InstalledVerified); err != nil {
		t.Error(err)
	}
	all, err := s.All()
	if err != nil || !slices.Equal(names(all), []string{"VEE-A", "VEE-B"}) || all[0].State != InstalledVerified || all[0].By != "admin" {
		t.Errorf("%+v, %v", all, err)
	}
	if h, err := s.History(); err != nil || len(h) != 2 || h[1].Verb != "state installedverified" {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestStoreThatIsNotThere: a store whose name is wrong, or whose disk is away, is none without tags, and nothing but Add
// makes one.
func TestStoreThatIsNotThere(t *testing.T) {
	s := newStore(t)
	me := owner()
	for what, ask := range map[string]func() error{
		"list":      func() error { _, err := s.Tags(""); return err },
		"of a VO":   func() error { _, err := s.Tags("cms"); return err },
		"all":       func() error { _, err := s.All(); return err },
		"published": func() error { _, err := s.Published(); return err },
		"history":   func() error { _, err := s.History(); return err },
		"remove":    func() error { return s.Remove(t.Context(), me, "", []string{"VEE-A"}) },
		"state":     func() error { return s.SetState(t.Context(), me, "", "VEE-A", InstalledNotVerified) },
	} {
		missing, ok := errors.AsType[*MissingError](ask())
		if !ok || missing.Dir != s.Dir {
			t.Errorf("%s: %v", what, missing)
		}
		if _, err := os.Stat(s.Dir); err == nil {
			t.Errorf("%s has made the store", what)
		}
	}
	if err := s.Add(t.Context(), me, "", []Tag{{Name: "VEE-A", State: InstalledNotVerified}}); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Published(); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := s.Tags("cms"); err != nil || len(list) != 0 {
		t.Errorf("a VO without tags in a store: %v, %v", list, err)
	}
}

func TestAtOnce(t *testing.T) {
	s := newStore(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := s.Add(t.Context(), owner(), "x", []Tag{{Name: fmt.Sprintf("VO-x-%d", i), State: Installable}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := s.Tags("x"); err != nil || len(list) != 20 {
		t.Errorf("%d tags, %v", len(list), err)
	}
}

func TestWhoMayWrite(t *testing.T) {
	s := newStore(t)
	os.Mkdir(s.Dir, 0o755)
	os.WriteFile(filepath.Join(s.Dir, "writers.toml"), []byte(`
[site]
groups = ["gridadm"]
[vo.cms]
groups = ["cmssgm"]
dn = ["/CN=Manager"]
fqan = ["/cms/Role=lcgadmin"]
`), 0o644)
	for _, tt := range []struct {
		c  Caller
		vo string
		ok bool
	}{
		{Caller{Groups: []string{"gridadm"}}, "", true},
		{Caller{Groups: []string{"gridadm"}}, "cms", false},
		{Caller{Groups: []string{"users", "cmssgm"}}, "cms", true},
		{Caller{Groups: []string{"cmssgm"}}, "", false},
		{Caller{Groups: []string{"cmssgm"}}, "atlas", false},
		{Caller{DN: "/CN=Manager"}, "cms", true},
		{Caller{DN: "/CN=Manager/CN=x"}, "cms", false},
		{Caller{FQANs: []string{"/cms/Role=lcgadmin/Capability=NULL"}}, "cms", true},
		{Caller{FQANs: []string{"/cms/Role=NULL/Capability=NULL"}}, "cms", false},
		{Caller{}, "cms", false},
	} {
		tt.c.UID, tt.c.User = -1, "somebody"
		name := "VEE-X"
		if tt.vo != "" {
			name = "VO-" + tt.vo + "-X"
		}
		err := s.Add(t.Context(), tt.c, tt.vo, []Tag{{Name: name, State: Installable}})
		if denied, ok := errors.AsType[*DeniedError](err); ok == tt.ok || !ok && err != nil {
			t.Errorf("%+v of %q: %v %v", tt.c, tt.vo, err, denied)
		}
	}
	os.WriteFile(filepath.Join(s.Dir, "writers.toml"), []byte("[vo.cms]\ngroop = []\n"), 0o644)
	if err := s.Add(t.Context(), Caller{UID: -1, Groups: []string{"cmssgm"}}, "cms", []Tag{{Name: "VO-cms-Y", State: Installable}}); err == nil {
		t.Error("an unknown key is accepted")
	}
}

func published() []Tag {
	return []Tag{
		{Name: "VEE-CentOS-7", State: InstalledVerified, Repository: "docker://reg.example.org/c7", Digest: "sha256:" + strings.Repeat("ab", 32), License: "GPL"},
		{Name: "VEE-Debian11", State: Installable, Description: "Debian 11, à la carte"},
	}
}

const site13 = `dn: GlueCEUniqueID=ce:2119/jobmanager-vres-q,mds-vo-name=resource,o=grid
objectClass: GlueCE
GlueCEUniqueID: ce:2119/jobmanager-vres-q
GlueForeignKey: GlueClusterUniqueID=ce

dn: GlueSubClusterUniqueID=ce,GlueClusterUniqueID=ce,mds-vo-name=resource,o=grid
objectClass: GlueSubCluster
GlueSubClusterUniqueID: ce
GlueChunkKey: GlueClusterUniqueID=ce
`

// What is published is read back by our own decoders.
func TestReadBack(t *testing.T) {
	plugin := GLUE1("GlueSubClusterUniqueID=ce,GlueClusterUniqueID=ce,mds-vo-name=resource,o=grid", published())
	golden(t, "glue1.ldif", plugin)
	var values []string // what a BDII adds to the entry
	for line := range strings.Lines(plugin) {
		if strings.HasPrefix(line, "GlueHostApplication") {
			values = append(values, line)
		}
	}
	r := decode(t, site13+strings.Join(values, ""))
	if got := r.RuntimeEnvironments; !slices.Equal(got, []string{"VEE-CentOS-7", "VEE-Debian11"}) {
		t.Errorf("GLUE 1.3: %q", got)
	}

	entries := GLUE2(Place{Manager: "urn:m,1", Service: "urn:s"}, published(), at())
	golden(t, "glue2.ldif", entries)
	if r = decode(t, site20+entries); !slices.Equal(r.RuntimeEnvironments, []string{"VEE-CentOS-7", "VEE-Debian11"}) {
		t.Errorf("GLUE 2.0: %q", r.RuntimeEnvironments)
	}
}

const site20 = `dn: GLUE2ServiceID=urn:s,GLUE2GroupID=resource,o=glue
objectClass: GLUE2ComputingService
GLUE2ServiceID: urn:s

dn: GLUE2ManagerID=urn:m\,1,GLUE2ServiceID=urn:s,GLUE2GroupID=resource,o=glue
objectClass: GLUE2ComputingManager
GLUE2ManagerID: urn:m,1
GLUE2ComputingManagerComputingServiceForeignKey: urn:s

dn: GLUE2ResourceID=urn:e,GLUE2ServiceID=urn:s,GLUE2GroupID=resource,o=glue
objectClass: GLUE2ExecutionEnvironment
GLUE2ResourceID: urn:e
GLUE2ExecutionEnvironmentComputingManagerForeignKey: urn:m,1

dn: GLUE2ShareID=urn:q,GLUE2ServiceID=urn:s,GLUE2GroupID=resource,o=glue
objectClass: GLUE2ComputingShare
GLUE2ShareID: urn:q
GLUE2ComputingShareMappingQueue: q
GLUE2ComputingShareComputingServiceForeignKey: urn:s
GLUE2ComputingShareExecutionEnvironmentForeignKey: urn:e

`

func decode(t *testing.T, ldif string) glue.Resource {
	t.Helper()
	d := glue.NewDecoder("test")
	if err := glue.ReadLDIF(strings.NewReader(ldif), "test.ldif", d.Add); err != nil {
		t.Fatal(err)
	}
	rs := d.Resources(at())
	if len(rs) != 1 {
		t.Fatalf("%d resources of\n%s\n%v", len(rs), ldif, d.Err())
	}
	return rs[0]
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s: %v\n%s", path, err, got)
	}
}

// The script does in a real shell what A-REX asks of it, and nothing that a job's options say.
func TestRTE(t *testing.T) {
	text, err := RTE(published()[0], Launch{"/opt/grid/bin/grid-launch", "/etc/grid/node.json"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "VEE-CentOS-7", text)
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "rte"), []byte(text), 0o644)
	script := `joboption_args='"./a.sh" "x y"'; set -- 0 "\$(touch ` + dir + `/owned)" '; touch ` + dir + `/owned'; . ` + dir + `/rte; echo "$joboption_args"`
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	want := `/opt/grid/bin/grid-launch run --node /etc/grid/node.json --sandbox "${RUNTIME_JOB_DIR}" VEE-CentOS-7 -- "./a.sh" "x y"` + "\n"
	if err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
		t.Error("an option was executed")
	}
	for _, bad := range []Launch{{"grid-launch", "/n"}, {"/a b", "/n"}, {"/a", "/$(x)"}} {
		if _, err := RTE(Tag{Name: "X"}, bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if text, _ := RTE(Tag{Name: "X", Description: "a\ntouch b"}, Launch{"/a", "/b"}); strings.Contains(text, "\ntouch") {
		t.Errorf("a description leaves its comment:\n%s", text)
	}
}

// The runtime environment of images that jobs bring takes the image from its option, and nothing that a shell would read.
func TestRTEOfImagesOfJobs(t *testing.T) {
	text, err := RTE(Tag{Name: environment.UserImageTag}, Launch{"/opt/grid-launch", "/etc/node.json"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "rte"), []byte(text), 0o644)
	image := "docker://reg.example.org:5000/me/x@sha256:" + strings.Repeat("a", 64)
	for option, want := range map[string]string{image: image, `"` + image + `"`: image, `"$(id)"`: "none", `"` + image + `";id"`: "none", "": "none", "$(touch " + dir + "/owned)": "none", "x;id": "none", "a b": "none", "--node": "--node"} {
		cmd := exec.Command("sh", "-c", `joboption_args='"./a.sh"'; f=$2; set -- 0 "$1"; . "$f"; echo "$joboption_args"`, "sh", option, filepath.Join(dir, "rte"))
		out, err := cmd.CombinedOutput()
		want = `/opt/grid-launch run --node /etc/node.json --sandbox "${RUNTIME_JOB_DIR}" --image ` + want + ` VEE-UserImage -- "./a.sh"` + "\n"
		if err != nil || string(out) != want {
			t.Errorf("%q: %v: %s", option, err, out)
		}
	}
}

func TestSlurmFeatures(t *testing.T) {
	argv, err := SlurmFeatures("n[1-4]", []string{"gpu"}, published())
	want := []string{"scontrol", "update", "NodeName=n[1-4]", "AvailableFeatures=gpu,VEE-CentOS-7,VEE-Debian11", "ActiveFeatures=gpu,VEE-CentOS-7,VEE-Debian11"}
	if err != nil || !slices.Equal(argv, want) {
		t.Errorf("%q, %v", argv, err)
	}
	broken := []Tag{{Name: "VEE-X", State: InstalledBroken}}
	if argv, err = SlurmFeatures("n1", nil, broken); err != nil || strings.Contains(strings.Join(argv, " "), "VEE-X") {
		t.Errorf("a broken tag is a feature: %q, %v", argv, err)
	}
	if text := GLUE1("GlueSubClusterUniqueID=x", broken); text != "" {
		t.Errorf("a change without values: %q", text)
	}
	_, err = SlurmFeatures("n1", nil, []Tag{{Name: "ENV/X"}})
	if _, ok := errors.AsType[*environment.TagError](err); !ok {
		t.Error(err)
	}
}

func TestScriptQuotes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s")
	os.WriteFile(file, []byte(Script([]string{"printf", "%s|", "it's", "$(x)", "a b"})), 0o755)
	if out, err := exec.Command("sh", file).Output(); err != nil || string(out) != "it's|$(x)|a b|" {
		t.Errorf("%q, %v", out, err)
	}
}

// What nodes have cached is published beside the tags, as long as their agents say so, and by those who may alone.
func TestCachedTagsArePublishedWhileReported(t *testing.T) {
	now := at()
	s := newStore(t)
	s.Now = func() time.Time { return now }
	if err := s.Add(t.Context(), owner(), "", []Tag{{Name: "VEE-A", State: Installable}, {Name: "VEE-B", State: Installable}, {Name: "VEE-C", State: InstalledBroken}}); err != nil {
		t.Fatal(err)
	}
	published := func() string {
		list, err := s.Published()
		if err != nil {
			t.Error(err)
		}
		return strings.Join(names(list), " ")
	}
	for node, cached := range map[string][]string{"n1": {"vee-a", "VEE-Z", "VEE-C"}, "n2": {"VEE-A"}} {
		if err := s.ReportCached(t.Context(), owner(), node, cached); err != nil {
			t.Fatal(err)
		}
	}
	if got := published(); got != "VEE-A VEE-A.cached VEE-B VEE-C" {
		t.Error(got)
	}
	if all, _ := s.All(); len(all) != 3 {
		t.Errorf("%d tags in the store", len(all))
	}
	now = now.Add(-11 * time.Minute)
	if got := published(); got != "VEE-A VEE-B VEE-C" {
		t.Errorf("by a clock that was ahead, or has jumped back: %s", got)
	}
	if err := s.ReportCached(t.Context(), owner(), "n4", []string{"VEE-B"}); err != nil {
		t.Fatal(err)
	}
	if reports, _ := s.reports(); len(reports) != 1 {
		t.Errorf("%d reports, those of the future among them", len(reports))
	}
	now = now.Add(22 * time.Minute)
	if got := published(); got != "VEE-A VEE-B VEE-C" {
		t.Errorf("of agents that are gone: %s", got)
	}
	if _, ok := errors.AsType[*DeniedError](s.ReportCached(t.Context(), Caller{User: "x", UID: -1}, "n3", []string{"VEE-B"})); !ok {
		t.Error("anybody may report")
	}
}

// TestStoreWhoseLockIsHeld: one of several who write to a store keeps the others waiting for a while, not for ever.
func TestStoreWhoseLockIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		held, err := s.lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() { held.Close() })
		began := time.Now()
		err = s.Add(t.Context(), owner(), "", []Tag{{Name: "VEE-A", State: Installable}})
		if err == nil || !strings.Contains(err.Error(), "somebody else has held the lock") || time.Since(began) > 30*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// Who may write to the folder, a VO's manager, leads nobody out of it by links
// and keeps nobody waiting at pipes; who may not, holds no lock.
func TestStoreOfSeveralHands(t *testing.T) {
	s := newStore(t)
	add := func() error { return s.Add(t.Context(), owner(), "", []Tag{{Name: "VEE-A", State: Installable}}) }
	if err := add(); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(s.Dir, ".lock")
	if err := os.Chmod(lock, 0o664); err != nil { // as older versions left it
		t.Fatal(err)
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(lock); err != nil || info.Mode().Perm()&0o007 != 0 {
		t.Errorf("everybody can open the lock: %v %v", info.Mode(), err)
	}
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.ReportCached(t.Context(), owner(), "n", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "writers.toml"), []byte("[site]\ngroups = [\"admins\"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".lock", "history.jsonl", "site.json", "cached.json", "writers.toml"} {
		path := filepath.Join(s.Dir, name)
		use := add
		switch name {
		case "cached.json":
			use = func() error { _, err := s.Published(); return err }
		case "writers.toml":
			use = func() error {
				return s.Add(t.Context(), Caller{User: "x", UID: -1, Groups: []string{"admins"}}, "", []Tag{{Name: "VEE-A", State: Installable}})
			}
		}
		if err := use(); err != nil {
			t.Fatal(err)
		}
		for kind, plant := range map[string]func() error{
			"link": func() error { return os.Symlink(precious, path) },
			"pipe": func() error { return unix.Mkfifo(path, 0o666) },
		} {
			if err := errors.Join(os.Rename(path, path+".away"), plant()); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- use() }()
			select {
			case err := <-done:
				if err == nil {
					t.Errorf("%s is a %s: used", name, kind)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s is a %s: waits for ever", name, kind)
			}
			if text, _ := os.ReadFile(precious); string(text) != "[]" {
				t.Errorf("%s is a %s: it was written through: %q", name, kind, text)
			}
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := add(); err != nil {
		t.Error(err)
	}
}

// A line of the history that a full disk or a crash has cut spoils itself alone: the change after it is told.
func TestHistoryThatWasCut(t *testing.T) {
	s := newStore(t)
	add := func(name string) {
		if err := s.Add(t.Context(), owner(), "", []Tag{{Name: name, State: Installable}}); err != nil {
			t.Fatal(err)
		}
	}
	add("VEE-A")
	name := filepath.Join(s.Dir, "history.jsonl")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(text, text[:len(text)/2]...), 0o644); err != nil {
		t.Fatal(err)
	}
	add("VEE-B")
	if h, err := s.History(); err != nil || len(h) != 2 || h[1].Tags[0] != "VEE-B" {
		t.Errorf("%+v, %v", h, err)
	}
}
