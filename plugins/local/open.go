package local

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"gridbroker/plugins"
)

// settings is one site of this machine in the configuration file.
type settings struct {
	Name    string   `toml:"name"`
	Slots   int      `toml:"slots"`
	Memory  int64    `toml:"memory"` // MB
	Tags    []string `toml:"tags"`
	Speed   float64  `toml:"speed"`
	MaxWall span     `toml:"max_wall"`
	Access  []string `toml:"access"`
	Drain   bool     `toml:"drain"`
	// Environments is a folder of definitions or a node's settings.
	Environments string `toml:"environments"`
	// Cache is the address of a read-ahead cache.
	Cache string `toml:"cache"`
}

// span reads "90s", "8h" and the like.
type span time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is negative", text)
	}
	*s = span(d)
	return err
}

// Open opens the back-end with the sites that the program's configuration
// names; without any there is one, with a slot per CPU.
func Open(c plugins.Config) (plugins.Submitter, error) {
	var sites []settings
	if err := c.Settings("local", &sites); err != nil {
		return nil, err
	}
	opts := Options{
		Dir: filepath.Join(c.StateDir, "local"), Helper: []string{c.Exe}, Now: c.Now,
		CPUs: runtime.NumCPU(), Memory: machineMemory(),
		Launcher: findLauncher(c.Exe), EnvironmentCache: filepath.Join(c.StateDir, "environments"),
	}
	for _, s := range sites {
		opts.Sites = append(opts.Sites, Site{
			Name: s.Name, Slots: s.Slots, Memory: s.Memory, Tags: s.Tags, Speed: s.Speed,
			MaxWall: time.Duration(s.MaxWall), Access: s.Access, Disabled: s.Drain,
			Environments: s.Environments, Cache: s.Cache,
		})
	}
	if len(opts.Sites) == 0 {
		opts.Sites = []Site{{Name: "localhost"}}
	}
	return New(opts)
}

// Helpers are the processes that the back-end starts of itself.
func Helpers() map[string]func(ctx context.Context, c plugins.Config, dir string) error {
	return map[string]func(context.Context, plugins.Config, string) error{
		RunnerVerb: func(ctx context.Context, c plugins.Config, dir string) error {
			return RunSite(ctx, dir, []string{c.Exe}, c.Now)
		},
		SupervisorVerb: func(ctx context.Context, c plugins.Config, dir string) error {
			return RunJob(ctx, dir, c.Now)
		},
	}
}

// machineMemory is this machine's memory in MB, 0 where it cannot be read.
func machineMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		var kb int64
		if n, _ := fmt.Sscanf(sc.Text(), "MemTotal: %d kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	return 0
}
