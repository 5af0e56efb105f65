package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

func storeCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Check, repair and copy the job records",
		Long: `The job records are one SQLite file. Every record carries a checksum; one that
cannot be read is named by the verbs that meet it, and the others go on.`,
	}
	cmd.AddCommand(storeCheckCmd(d), storeRepairCmd(d), storeBackupCmd(d))
	return cmd
}

// withRecords opens the job records alone.
func withRecords(d *deps, cmd *cobra.Command, do func(context.Context, *jobs.SQLite) error) error {
	c, err := loadConfig(d)
	if err != nil {
		return err
	}
	s, err := openRecords(d, c)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(cmd.Context(), s)
}

func storeCheckCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:     "check",
		Short:   "Read all records and the whole file; exit code 1 where something is damaged",
		Example: "  grid store check",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withRecords(d, cmd, func(ctx context.Context, s *jobs.SQLite) error {
				h, err := s.Check(ctx)
				if err != nil {
					return err
				}
				return storeHealth(d, h)
			})
		},
	}
}

func storeHealth(d *deps, h jobs.Health) error {
	if d.json {
		if err := printJSON(d, "store.check", h); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(d.env.Out, "%d records are well\n", h.Records)
		for _, damage := range h.Damaged {
			fmt.Fprintf(d.env.Out, "%s is damaged: %s\n", damage.ID, damage.Why)
		}
		for _, line := range h.File {
			fmt.Fprintf(d.env.Out, "file: %s\n", line)
		}
		if h.Aside > 0 {
			fmt.Fprintf(d.env.Out, "%d damaged records were set aside earlier\n", h.Aside)
		}
	}
	switch {
	case h.Well():
		return nil
	case len(h.File) > 0:
		return fmt.Errorf("the file itself is damaged: grid store repair makes its indexes anew; else a backup takes its place")
	}
	return fmt.Errorf("%d records are damaged: grid store repair sets them aside", len(h.Damaged))
}

func storeRepairCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:   "repair",
		Short: "Set records aside that cannot be read, and make the indexes anew",
		Long: `Repair moves records that cannot be read into a table of their own, where they
and their logs are kept, and makes the indexes of the file anew. Make a backup first.`,
		Example: "  grid store backup jobs.before && grid store repair",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withRecords(d, cmd, func(ctx context.Context, s *jobs.SQLite) error {
				aside, err := s.Repair(ctx)
				if err != nil {
					return err
				}
				if d.json {
					return printJSON(d, "store.repair", asideDocument{aside})
				}
				for _, damage := range aside {
					fmt.Fprintf(d.env.Out, "%s set aside: %s\n", damage.ID, damage.Why)
				}
				return nil
			})
		},
	}
}

func storeBackupCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:     "backup FILE",
		Short:   "Write a copy of all records to a new file, while others work",
		Example: "  grid store backup ~/jobs-2026-11-21.db",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRecords(d, cmd, func(ctx context.Context, s *jobs.SQLite) error {
				path := abs(d, args[0])
				if err := s.Backup(ctx, path); err != nil || !d.json {
					return err
				}
				return printJSON(d, "store.backup", pathDocument{path})
			})
		},
	}
}
