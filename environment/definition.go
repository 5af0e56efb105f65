package environment

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// A Definition describes one environment of a site: what the tag stands for and how a job is put into it. It is read
// from TOML by Parse and bounded by the site's Policy.
type Definition struct {
	// Tag is the name that jobs ask for, see CheckTag.
	Tag string `toml:"tag" json:"tag"`
	// Image says where the image lies: "oci:DIR" an OCI image layout, "docker://HOST/NAME" a registry, "tree:FILE" a
	// tar archive (plain, gzip or zstd).
	Image string `toml:"image" json:"image"`
	// Digest is the sha256 digest of the image's manifest, or of the archive itself for "tree:". Nothing is ever
	// fetched by a name that can change.
	Digest string `toml:"digest" json:"digest"`
	// Mounts are folders of the node that the job sees; the site's Policy bounds them.
	Mounts []Mount `toml:"mounts" json:"mounts,omitempty"`
	// Network keeps the node's network; without it the job has none.
	Network bool `toml:"network" json:"network,omitempty"`
	// Devices are device nodes of the node, such as "/dev/nvidia0"; a pattern's last part may hold '*'.
	Devices []string `toml:"devices" json:"devices,omitempty"`
	// Environment is set for the job besides what the job itself sets.
	Environment map[string]string `toml:"environment" json:"environment,omitempty"`
	// Nested allows user namespaces inside, as containers in the job need them.
	Nested bool `toml:"nested" json:"nested,omitempty"`
	// Open allows launchers that do not isolate, such as proot.
	Open bool `toml:"open" json:"open,omitempty"`
	// System makes the environment a machine of its own, with its image's kernel; nil: it runs under the node's.
	System *System `toml:"system" json:"system,omitempty"`
	// Limits bound one job.
	Limits Limits `toml:"limits" json:"limits,omitzero"`
	// Launchers is the order in which launchers are tried; empty: DefaultLaunchers.
	Launchers []string `toml:"launchers" json:"launchers,omitempty"`
	// Test is a command that tells whether the environment works; `grid tags validate` runs it.
	Test []string `toml:"test" json:"test,omitempty"`
	// License is a note for those who use the image.
	License string `toml:"license" json:"license,omitempty"`
	// Description is published with the tag.
	Description string `toml:"description" json:"description,omitempty"`

	// File is where the definition was read.
	File string `toml:"-" json:"file,omitempty"`
	text []byte // as it was read, which is what is signed
}

// A Mount makes a folder of the node visible in the environment.
type Mount struct {
	Source   string `toml:"source" json:"source"` // absolute, on the node
	Target   string `toml:"target" json:"target"` // absolute, in the environment; empty: as Source
	Writable bool   `toml:"writable" json:"writable,omitempty"`
}

// Limits bound a job inside an environment; zero is unlimited.
type Limits struct {
	Memory    Size     `toml:"memory" json:"memory,omitempty"`       // bytes of resident memory of all its processes
	FileSize  Size     `toml:"file_size" json:"fileSize,omitempty"`  // bytes of one file
	Processes int      `toml:"processes" json:"processes,omitempty"` // of the job's pid namespace
	OpenFiles int      `toml:"open_files" json:"openFiles,omitempty"`
	Scratch   Size     `toml:"scratch" json:"scratch,omitempty"` // bytes of /tmp and /dev/shm, each in memory
	WallTime  Duration `toml:"wall_time" json:"wallTime,omitempty"`
}

// A ParseError is a definition that cannot be read; Line and Column count from 1, zero where not known.
type ParseError struct {
	File         string
	Line, Column int
	Why          string
}

func (e *ParseError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Why)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Why)
}

// maxDefinition bounds a definition's text in bytes.
const maxDefinition = 64 << 10

// Parse reads a definition from TOML. Unknown keys, wrong types and values out of range are *ParseError.
func Parse(file string, text []byte) (*Definition, error) {
	if len(text) > maxDefinition {
		return nil, tooLarge(file)
	}
	d := &Definition{File: file, text: text}
	dec := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := dec.Decode(d); err != nil {
		return nil, decodeError(file, err)
	}
	if err := d.check(); err != nil {
		line := keyLine(text, err.key)
		return nil, &ParseError{File: file, Line: line, Column: min(line, 1), Why: err.Error()}
	}
	return d, nil
}

// Renewed is the definition's text with other values of top-level keys, such as image and digest; all else that was written
// there stays. What it gives is to be parsed again.
func (d *Definition) Renewed(values map[string]string) []byte {
	var out bytes.Buffer
	done, top := map[string]bool{}, true
	for line := range bytes.Lines(d.text) {
		key, _, _ := strings.Cut(string(line), "=")
		key = strings.TrimSpace(key)
		top = top && !strings.HasPrefix(key, "[")
		if value, ok := values[key]; ok && top {
			line = fmt.Appendf(nil, "%s = %q\n", key, value)
			done[key] = true
		}
		out.Write(line)
	}
	text := out.Bytes()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !done[key] {
			text = append(fmt.Appendf(nil, "%s = %q\n", key, values[key]), text...)
		}
	}
	return text
}

// decodeError gives a TOML error its position.
func decodeError(file string, err error) error {
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		first := &strict.Errors[0]
		line, col := first.Position()
		return &ParseError{file, line, col, fmt.Sprintf("unknown key %q", strings.Join(first.Key(), "."))}
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, col := wrong.Position()
		return &ParseError{file, line, col, strings.TrimPrefix(wrong.Error(), "toml: ")}
	}
	return &ParseError{File: file, Why: strings.TrimPrefix(err.Error(), "toml: ")}
}

// keyLine is the line in which a top-level key or table stands first, 0 where it is missing.
func keyLine(text []byte, key string) int {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		word := strings.Trim(strings.TrimSpace(string(line)), "[]")
		if word == key || strings.HasPrefix(word, key+" ") || strings.HasPrefix(word, key+"=") {
			return n
		}
	}
	return 0
}

// A valueError is a value that is well formed and means nothing.
type valueError struct{ key, why string }

func (e *valueError) Error() string { return e.key + ": " + e.why }

func (d *Definition) check() *valueError {
	if err := CheckTag(d.Tag); err != nil {
		return &valueError{"tag", err.Error()}
	}
	if d.File != "" && SameTag(d.Tag, UserImageTag) {
		return &valueError{"tag", UserImageTag + " stands for images that jobs bring: the policy's UserImages and UserRegistries allow it"}
	}
	if !validDigest(d.Digest) {
		return &valueError{"digest", fmt.Sprintf("%q is not sha256: and 64 hexadecimal digits", d.Digest)}
	}
	if _, err := parseReference(d.Image); err != nil {
		return &valueError{"image", err.Error()}
	}
	for i := range d.Mounts {
		if err := d.Mounts[i].check(); err != nil {
			return err
		}
	}
	for _, name := range d.Launchers {
		if !slices.Contains(launcherNames(), name) {
			return &valueError{"launchers", fmt.Sprintf("%q is none of %s", name, strings.Join(launcherNames(), ", "))}
		}
	}
	return d.checkRest()
}

func (d *Definition) checkRest() *valueError {
	for _, dev := range d.Devices {
		if !cleanAbsolute(dev) || !strings.HasPrefix(dev, "/dev/") || strings.Contains(filepath.Dir(dev), "*") {
			return &valueError{"devices", fmt.Sprintf("%q is not a plain path below /dev", dev)}
		}
	}
	for name := range d.Environment {
		if err := checkVariable(name); err != nil {
			return &valueError{"environment", err.Error()}
		}
	}
	if err := d.checkSystem(); err != nil {
		return err
	}
	if l := d.Limits; l.Processes < 0 || l.OpenFiles < 0 {
		return &valueError{"limits", "a count is negative"}
	}
	return nil
}

// checkVariable refuses what would let an environment choose which code the launcher or the loader runs.
func checkVariable(name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return fmt.Errorf("%q is no name of a variable", name)
	case strings.HasPrefix(name, "LD_"):
		return fmt.Errorf("%s is the loader's own and not taken from a definition", name)
	}
	return nil
}

func (m *Mount) check() *valueError {
	if m.Target == "" {
		m.Target = m.Source
	}
	for _, p := range []string{m.Source, m.Target} {
		if !cleanAbsolute(p) || p == "/" {
			return &valueError{"mounts", fmt.Sprintf("%q is not an absolute path without . and .. below /", p)}
		}
	}
	for _, own := range []string{"/proc", "/dev", "/sys"} {
		if m.Target == own || strings.HasPrefix(m.Target, own+"/") {
			return &valueError{"mounts", fmt.Sprintf("%q belongs to the launcher", m.Target)}
		}
	}
	return nil
}

func cleanAbsolute(p string) bool {
	return filepath.IsAbs(p) && filepath.Clean(p) == p && !strings.ContainsAny(p, "\x00\n")
}

// A Size is a number of bytes, written as 1024, "512 MB" or "2 GiB" (1 MB = 10^6, 1 MiB = 2^20 bytes).
type Size int64

// UnmarshalText reads a size with its unit.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := parseSize(string(text))
	*s = Size(n)
	return err
}

// MarshalText writes a size in bytes.
func (s Size) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(s), 10), nil }

// A Duration is a time, written as "90s", "2h30m" or "1h".
type Duration time.Duration

// UnmarshalText reads a duration of Go's form that is not negative.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err == nil && v < 0 {
		err = fmt.Errorf("duration %q is negative", text)
	}
	*d = Duration(v)
	return err
}

// MarshalText writes a duration in Go's form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Document is the length of time as the command's JSON has it.
func (d Duration) Document() time.Duration { return time.Duration(d) }
