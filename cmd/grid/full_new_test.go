package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/forecast/scheduler"
)

// What begins a configuration or a description on a full disk leaves none that is empty: when there is room it is begun as if
// for the first time, and whoever has the administrator's token that lies there is administrator.
func TestBegunOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 4, 8} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			small := filepath.Join(v.dir, "small")
			smallDisk(t, small, "2m")
			conf, begin := filepath.Join(small, "s", "scheduler.toml"), [][]string{
				{"scheduler", "init", "--file", filepath.Join(small, "s", "scheduler.toml")}, {"jdl", "new", filepath.Join(small, "new.jdl")}, {"config", "init", "--config", filepath.Join(small, "grid.toml")}}
			if err := os.Mkdir(filepath.Dir(conf), 0o700); err != nil {
				t.Fatal(err)
			}
			ballast := fill(t, small, room)
			if h := v.grid(0, begin[0]...); h.code != 1 || !disksFull.MatchString(h.errs) {
				t.Errorf("%d %s", h.code, h.errs)
			}
			if room == 0 {
				for _, args := range begin[1:] {
					if h := v.grid(0, args...); h.code != 1 || !disksFull.MatchString(h.errs) {
						t.Errorf("%v: %d %s", args, h.code, h.errs)
					}
				}
			}
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			for _, args := range begin {
				if h := v.grid(0, args...); h.code != 0 {
					t.Errorf("%v, when there is room: %d %s", args, h.code, h.errs)
				}
			}
			text, err := os.ReadFile(conf)
			token, e := os.ReadFile(filepath.Join(filepath.Dir(conf), "admin.token"))
			if err != nil || e != nil || !strings.Contains(string(text), scheduler.HashToken(strings.TrimSpace(string(token)))) {
				t.Errorf("%v %v: the token that lies there is not the administrator's", err, e)
			}
		})
	}
}

// What replaces a file on a full disk leaves the file that was there, and what writes many leaves none that was cut short.
func TestReplacedOnAFullDisk(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	small := filepath.Join(v.dir, "small")
	smallDisk(t, small, "2m")
	job, man, whole := filepath.Join(small, "job.jdl"), filepath.Join(small, "man"), filepath.Join(v.dir, "man")
	const own = "Executable = \"/bin/true\";\n"
	if err := errors.Join(os.WriteFile(job, []byte(own), 0o640), os.Mkdir(man, 0o755)); err != nil {
		t.Fatal(err)
	}
	if h := v.grid(0, "man", whole); h.code != 0 {
		t.Fatal(h.errs)
	}
	for room, verbs := range map[int][][]string{0: {{"jdl", "new", "--force", job}, {"jdl", "convert", "--to", "xrsl", "--out", job, job}}, 50: {{"man", man}}} {
		ballast := fill(t, small, room)
		for _, args := range verbs {
			if h := v.grid(0, args...); h.code == 0 || !disksFull.MatchString(h.errs) {
				t.Errorf("%v: %d %s", args, h.code, h.errs)
			}
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(job); err != nil || string(text) != own {
		t.Errorf("the description is %q, %v", text, err)
	}
	pages, err := os.ReadDir(man)
	if err != nil || len(pages) == 0 {
		t.Fatal(len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(man, page.Name()))
		want, e := os.ReadFile(filepath.Join(whole, page.Name()))
		if err != nil || e != nil || string(text) != string(want) {
			t.Errorf("%s has %d bytes of %d: %v %v", page.Name(), len(text), len(want), err, e)
		}
	}
	if h := v.grid(0, "jdl", "new", "--force", job); h.code != 0 {
		t.Error(h.errs)
	}
	left, err := os.ReadDir(small)
	info, e := os.Stat(job)
	if err != nil || e != nil || len(left) != 2 || info.Mode() != 0o640 {
		t.Errorf("%v %v %v %v", left, err, info, e)
	}
}
