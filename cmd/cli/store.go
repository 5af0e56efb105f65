package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/credential"
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

// reading opens the job records alone, or a copy of them where they cannot be written.
func reading(d *deps, cmd *cobra.Command, do func(context.Context, *jobs.SQLite) error) error {
	c, err := loadConfig(d)
	if err != nil {
		return err
	}
	s, err := openRecords(d, c)
	if err != nil && jobs.Unwritable(err) {
		s, err = openRecordsCopy(d, c, err)
	}
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
			return reading(d, cmd, func(ctx context.Context, s *jobs.SQLite) error {
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
		sayOut(d, "%d records are well", h.Records)
		for _, damage := range h.Damaged {
			sayOut(d, "%s is damaged: %s", damage.ID, damage.Why)
		}
		for _, line := range h.File {
			sayOut(d, "file: %s", line)
		}
		if h.Aside > 0 {
			sayOut(d, "%d damaged records were set aside earlier", h.Aside)
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
	backup := ""
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Set aside what cannot be read, and make the indexes anew",
		Long: `Repair moves records that cannot be read into a table of their own, where they
and their logs are kept, and makes the indexes of the file anew. Make a backup first.

A file that is no database any more, or has pages that cannot be read, gets another
name beside its place, and new records are made: what can be read of the old ones,
and those of --backup where one is named. Nothing of them is sent again by itself:
what was done since they were written, they do not know.
grid adopt takes up jobs that are at computing elements and in no record. End
grid follow before.`,
		Example: `  grid store backup jobs.before && grid store repair
  grid store repair --backup ~/jobs-2026-11-21.db && grid adopt --dry-run https://ce.example.org/arex local:`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := storeRepair(cmd.Context(), d, backup)
			if _, ruined := errors.AsType[*jobs.RuinedError](err); !ruined {
				return err
			}
			sayErr(d, "%s", err)
			return storeRebuild(cmd.Context(), d, backup)
		},
	}
	cmd.Flags().StringVar(&backup, "backup", "", "take over the records of this `FILE` of grid store backup, where the file of the records is no database any more")
	return cmd
}

// storeRepair repairs records in their place.
func storeRepair(ctx context.Context, d *deps, backup string) error {
	c, err := loadConfig(d)
	if err != nil {
		return err
	}
	s, err := openRecords(d, c)
	if err != nil {
		return err
	}
	defer s.Close()
	if h, err := s.Check(ctx); err == nil && h.Well() && backup != "" {
		return usageError(errors.New("the records can be read: --backup is for those that cannot"))
	}
	aside, err := s.Repair(ctx)
	if err != nil {
		return err
	}
	return storeRepaired(d, asideDocument{Aside: aside})
}

func storeRebuild(ctx context.Context, d *deps, backup string) error {
	c, err := loadConfig(d)
	if err != nil {
		return err
	}
	if backup != "" {
		backup = abs(d, backup)
		if err := credential.Owned(credentialEnv(d), backup); err != nil { // it says where jobs are, as the records do
			return usageError(err)
		}
	}
	b, err := jobs.Rebuild(ctx, stateDir(d, c), backup, d.env.Now)
	if err != nil {
		return err
	}
	return storeRepaired(d, asideDocument{Aside: b.Damaged, Lost: true, File: b.Aside, Salvaged: b.Salvaged, Unread: len(b.Lost), UnreadIDs: b.Lost, Taken: b.Taken, Unsure: b.Unsure})
}

func storeRepaired(d *deps, doc asideDocument) error {
	if d.json {
		return printJSON(d, "store.repair", doc)
	}
	for _, damage := range doc.Aside {
		sayOut(d, "%s set aside: %s", damage.ID, damage.Why)
	}
	if doc.Lost {
		storeRebuilt(d, doc)
	}
	return nil
}

func storeRebuilt(d *deps, doc asideDocument) {
	sayOut(d, "%s: what was in the place of the records is there now", doc.File)
	if doc.Salvaged > 0 {
		sayOut(d, "%d records could be read in it and are kept", doc.Salvaged)
	}
	if doc.Unread > 0 {
		sayOut(d, "%d more are named in it and cannot be read: %s", doc.Unread, strings.Join(doc.UnreadIDs, " "))
	}
	if doc.Taken > 0 {
		sayOut(d, "%d records taken from the backup; what became of their jobs since, and jobs recorded since, is lost", doc.Taken)
	}
	if doc.Taken+doc.Salvaged == 0 {
		sayOut(d, "All job records are lost: the new ones are empty")
	}
	if doc.Unsure > 0 {
		sayOut(d, "%d of them had not been sent then, and may have been since: they stand as failed", doc.Unsure)
	}
	sayOut(d, "Jobs that are at computing elements and in no record are taken up by grid adopt URL...; try grid adopt --dry-run first")
}

func storeBackupCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:     "backup FILE",
		Short:   "Write a copy of all records to a new file, while others work",
		Example: "  grid store backup ~/jobs-2026-11-21.db",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return reading(d, cmd, func(ctx context.Context, s *jobs.SQLite) error {
				path := abs(d, args[0])
				if err := s.Backup(ctx, path); err != nil || !d.json {
					return err
				}
				return printJSON(d, "store.backup", pathDocument{path})
			})
		},
	}
}
