package tags

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"

	"gridbroker/environment"
)

// A Caller is who wants to change tags, as whoever asks on its behalf has authenticated it.
type Caller struct {
	User   string   // as it stands in the history
	UID    int      // of a local user; -1: none
	Groups []string // unix groups
	DN     string   // of a certificate, in the form /C=.../CN=...
	FQANs  []string // of a VOMS proxy, such as /cms/Role=lcgadmin
}

// writers is who may change tags, in writers.toml:
//
//	[site]
//	groups = ["gridadm"]
//	[vo.cms]
//	groups = ["cmssgm"]
//	dn = ["/DC=org/DC=example/CN=Software Manager"]
//	fqan = ["/cms/Role=lcgadmin"]
type writers struct {
	Site rule            `toml:"site"`
	VO   map[string]rule `toml:"vo"`
}

// A rule lets those through who have one of its groups, names or roles.
type rule struct {
	Groups []string `toml:"groups"`
	DN     []string `toml:"dn"`
	FQAN   []string `toml:"fqan"`
}

// Allows tells whether one of the caller's identities is in the rule. FQANs are compared without the parts
// /Role=NULL and /Capability=NULL that say nothing.
func (r rule) Allows(c Caller) bool {
	for _, g := range c.Groups {
		if slices.Contains(r.Groups, g) {
			return true
		}
	}
	if c.DN != "" && slices.Contains(r.DN, c.DN) {
		return true
	}
	return slices.ContainsFunc(c.FQANs, func(f string) bool {
		return slices.ContainsFunc(r.FQAN, func(want string) bool { return plainFQAN(f) == plainFQAN(want) })
	})
}

func plainFQAN(f string) string {
	return strings.TrimSuffix(strings.TrimSuffix(f, "/Capability=NULL"), "/Role=NULL")
}

// allowed lets root, the folder's owner and those of writers.toml through.
func (s *Store) allowed(c Caller, vo string) error {
	info, err := os.Stat(s.Dir)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && (c.UID == 0 || c.UID >= 0 && c.UID == int(st.Uid)) {
		return nil
	}
	w, err := s.writers()
	if err != nil {
		return err
	}
	rule := w.Site
	if vo != "" {
		rule = w.VO[vo]
	}
	if !rule.Allows(c) {
		return &DeniedError{c.User, vo}
	}
	return nil
}

func (s *Store) writers() (w writers, err error) {
	path := filepath.Join(s.Dir, "writers.toml")
	text, err := s.read("writers.toml")
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	dec := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return w, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

// ofAnother tells which other VO a tag belongs to. VO-a-b-c is one of VO a's by its name and of VO a-b's too: it is the
// latter's where the store knows that VO, or has the tag there.
func (s *Store) ofAnother(vo, name string) error {
	w, err := s.writers()
	if err != nil {
		return err
	}
	vos, err := s.VOs()
	if err != nil {
		return err
	}
	for _, other := range slices.AppendSeq(vos, maps.Keys(w.VO)) {
		if other == vo || other == "" || check(other, name) != nil {
			continue
		}
		if len(other) > len(vo) {
			return &environment.TagError{Tag: name, Why: "belongs to VO " + other}
		}
		list, err := s.Tags(other)
		if err != nil {
			return err
		}
		if find(list, name) >= 0 {
			return &environment.TagError{Tag: name, Why: "is published by VO " + other + " already"}
		}
	}
	return nil
}
