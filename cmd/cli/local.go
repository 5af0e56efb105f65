package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/plugins/local"
)

// localOptions describe the sites on this machine. Without any configured
// there is one, with a slot per CPU.
func (a *app) localOptions(c config) local.Options {
	opts := local.Options{
		Dir: filepath.Join(a.stateDir(c), "local"), Helper: []string{a.env.Exe}, Now: a.env.Now,
		CPUs: runtime.NumCPU(), Memory: machineMemory(),
	}
	for _, s := range c.Local {
		opts.Sites = append(opts.Sites, local.Site{
			Name: s.Name, Slots: s.Slots, Memory: s.Memory, Tags: s.Tags, Speed: s.Speed,
			MaxWall: time.Duration(s.MaxWall), Access: s.Access, Disabled: s.Drain,
		})
	}
	if len(opts.Sites) == 0 {
		opts.Sites = []local.Site{{Name: "localhost"}}
	}
	return opts
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

// localRunnerCmd and localJobCmd are the helper processes of the local
// back-end; they are started by the program itself.
func (a *app) localRunnerCmd() *cobra.Command {
	return &cobra.Command{
		Use: local.RunnerVerb + " DIR", Hidden: true, Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return local.RunSite(cmd.Context(), args[0], []string{a.env.Exe}, a.env.Now)
		},
	}
}

func (a *app) localJobCmd() *cobra.Command {
	return &cobra.Command{
		Use: local.SupervisorVerb + " DIR", Hidden: true, Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return local.RunJob(cmd.Context(), args[0], a.env.Now)
		},
	}
}
