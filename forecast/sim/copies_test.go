package sim

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// TestCopies: a table stands for as many sites as it says, each as if it had a table of its own.
func TestCopies(t *testing.T) {
	head, tail, _ := strings.Cut(small, "[[site]]\n")
	more := "[[site]]\nname = \"b\"\nprocs = 8\n[[failure]]\nkind = \"site\"\nsite = \"a-2\"\nfrom = \"1h\"\nfor = \"1h\"\n"
	s, err := Parse("s.toml", []byte(head+"[[site]]\n"+tail+"copies = 3\n"+more))
	if err != nil {
		t.Fatal(err)
	}
	text := head
	for _, name := range []string{"a-1", "a-2", "a-3"} {
		text += "[[site]]\n" + strings.Replace(tail, `"a"`, `"`+name+`"`, 1)
	}
	by, err := Parse("s.toml", []byte(text+more))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(s)
	want, _ := json.Marshal(by)
	if !bytes.Equal(got, want) || len(s.Sites) != 4 {
		t.Errorf("%s\nwant %s", got, want)
	}
	if err := s.Check(); err != nil || len(s.Sites) != 4 {
		t.Errorf("looked at again: %v, %d sites", err, len(s.Sites))
	}
}

// TestMistakesInCopies: what is wrong with copies has its place, that of the table of all of them.
func TestMistakesInCopies(t *testing.T) {
	for text, want := range map[string]string{
		small + "copies = -1\n":                                                                                 "7:1: site.1.copies: -1: want 1 to 10000",
		small + "copies = 10001\n":                                                                              "7:1: site.1.copies: 10001: want 1 to 10000",
		small + "copies = \"3\"\n":                                                                              "7:10: site.copies: want a whole number",
		small + "copies = 10000\n[[site]]\nname = \"b\"\nprocs = 4\n":                                           "8:3: site.2: the 10001th site: want 10000 at most",
		small + "copies = 3\n[[site]]\nname = \"a-2\"\nprocs = 4\n":                                             `9:1: site.2.name: a second "a-2"`,
		small + "copies = 3\n[[site]]\nname = \"b\"\nprocs = 0\n":                                               "10:1: site.2.procs: 0",
		small + "copies = 3\n[[failure]]\nkind = \"site\"\nsite = \"a\"\nfor = \"1h\"\n":                        `10:1: failure.1.site: no site is called "a"`,
		strings.Replace(small, "name = \"a\"\n", "", 1) + "copies = 3\n":                                        "4:3: site.1.name: none",
		strings.Replace(small, `"a"`, `"`+strings.Repeat("a", 255)+`"`, 1) + "copies = 3\n":                     "5:1: site.1.name:",
		small + "copies = 3\n[[site]]\nname = \"b\"\nprocs = 4\ntrace = \"none.swf\"\n" + "refresh = \"-1s\"\n": "12:11: site.refresh",
	} {
		_, err := Parse("s.toml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "s.toml:"+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestExamples: every scenario that comes with the program can be read, and can be played.
func TestExamples(t *testing.T) {
	testbed.Computes(t)
	const dir = "../../testdata/scenarios/"
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 9 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		s, err := loaded(dir + f.Name())
		if err != nil {
			t.Error(err)
			continue
		}
		s.Seeds, s.Jobs.Count = 1, 30
		if i := slices.Index(s.Policies, Stored); i >= 0 {
			s.Policies = slices.Delete(s.Policies, i, i+1) // takes its time
		}
		if _, err := s.Compare(t.Context(), Options{Parallel: 2}); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
}
