// Package tags keeps the tags that a site publishes: which software and which environments jobs may ask for, who may
// say so, and what was changed when. It writes them in the forms of information systems and batch systems.
//
// A store is a folder: site.json and vo-NAME.json hold the tags, history.jsonl every change, writers.toml who may
// change what. Changes are made under one lock and appear whole.
package tags

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gridbroker/environment"
)

// State is a value of AppEnvState_t of GLUE 2.0 (GFD.147, B.2).
type State string

// The states that a tag is published in.
const (
	Installable          State = "installable"          // deployed when a job asks
	InstalledNotVerified State = "installednotverified" // somebody says that it is there
	InstalledVerified    State = "installedverified"    // its own test ran well
	InstalledBroken      State = "installedbroken"      // its own test failed
)

// States are those that a tag can be published in.
func States() []State {
	return []State{Installable, InstalledNotVerified, InstalledVerified, InstalledBroken}
}

// A StateError is a tag that is to be published in a state which the store does not know.
type StateError struct{ State State }

func (e *StateError) Error() string { return fmt.Sprintf("state %q is none of %v", e.State, States()) }

// A VOError is a name that no VO has.
type VOError struct{ VO string }

func (e *VOError) Error() string {
	return fmt.Sprintf("%q is no name of a VO: small letters, digits, '.', '-', '_'", e.VO)
}

// A MissingError is a store that is not there: its name is wrong, or the disk it
// is on is away. It is not one without tags, or all of a site's would be taken back.
type MissingError struct{ Dir string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: there is no store of tags", e.Dir)
}

// A Tag is one published name.
type Tag struct {
	Name  string    `json:"name"`
	State State     `json:"state"`
	Added time.Time `json:"added"`
	By    string    `json:"by"`
	// What is known of the environment behind it.
	Repository  string `json:"repository,omitempty"` // where its image lies
	Digest      string `json:"digest,omitempty"`     // sha256 of the image's manifest
	Description string `json:"description,omitempty"`
	License     string `json:"license,omitempty"`
}

// check tells whether a tag may be one of a VO, or of the site where vo is empty: a VO's begin with VO-<vo>-, as
// lcg-ManageVOTag asks for, and no others do.
func check(vo, name string) error {
	if err := environment.CheckTag(name); err != nil {
		return err
	}
	prefix := "VO-" + vo + "-"
	switch {
	case vo == "" && len(name) > 3 && strings.EqualFold(name[:3], "VO-"):
		return &environment.TagError{Tag: name, Why: "is a VO's: say which VO"}
	case vo != "" && (len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix)):
		return &environment.TagError{Tag: name, Why: fmt.Sprintf("does not begin with %q, as the tags of VO %s do", prefix, vo)}
	}
	return nil
}

// find is the place of a tag in a list, regardless of case; -1 where it is not there.
func find(list []Tag, name string) int {
	return slices.IndexFunc(list, func(t Tag) bool { return environment.SameTag(t.Name, name) })
}
