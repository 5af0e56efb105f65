package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/environment"
)

// gcOptions are those of grid env gc.
type gcOptions struct {
	keep   string
	unused time.Duration
	yes    bool
}

func envGCCmd(d *deps, open openNode) *cobra.Command {
	var f gcOptions
	cmd := &cobra.Command{
		Use: "gc", Short: "Remove unpacked images that nobody needs from the cache",
		Long: `Gc removes unpacked images from the node's cache: those that no definition names and
no job has used for --unused, and then the longest unused until those that stay have
at most --keep bytes, without it the node's quota; --keep 0 removes all. What a job
runs in stays. It says what would go and asks; where nobody can be asked it only
says so, unless --yes is given. Images are not touched: a removed environment is
unpacked again when a job asks for it.`,
		Example: "  grid env gc\n  grid env gc --keep 20GB --yes",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			node, err := open()
			if err != nil {
				return err
			}
			cache := node.Store()
			list, err := f.surplus(node, cache)
			if err != nil {
				return err
			}
			doc := removedDocument{Removed: []environment.Entry{}}
			if f.yes || f.agreed(ctx, d, list) {
				cache.Sweep()
				removed, err := cache.Remove(list)
				doc.Removed = append(doc.Removed, removed...)
				return errors.Join(printRemoved(d, "removed", doc, removed), err)
			}
			if ctx.Err() != nil {
				return &exitError{interruption(ctx), errors.New("nothing was done")}
			}
			doc.Surplus = list
			return printRemoved(d, "would remove", doc, list)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.keep, "keep", "", "`SIZE` that all together may keep (default: the node's quota)")
	lengthVar(fl, &f.unused, "unused", 7*24*time.Hour, "remove what no definition names and no job has used for so long")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	return cmd
}

// surplus is what would go.
func (f *gcOptions) surplus(node *environment.Node, cache *environment.Cache) ([]environment.Entry, error) {
	keep := cache.Bound()
	if f.keep != "" {
		var size environment.Size
		if err := size.UnmarshalText([]byte(f.keep)); err != nil {
			return nil, usageError(fmt.Errorf("--keep: %w", err))
		}
		keep = int64(size)
	}
	catalog, err := node.Catalog()
	if err == nil {
		err = catalog.Broken() // what these name would be taken for surplus
	}
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, def := range catalog.All() {
		named[def.Digest] = true
	}
	before := time.Now().Add(-f.unused)
	return cache.Surplus(keep, func(e environment.Entry) bool { return !named[e.Digest] && e.Used.Before(before) })
}

// agreed asks at a terminal whether what would go may go.
func (f *gcOptions) agreed(ctx context.Context, d *deps, list []environment.Entry) bool {
	if len(list) == 0 || !d.env.InTerminal || d.json {
		return false
	}
	for _, e := range list {
		sayErr(d, "would remove %s", entryText(e))
	}
	return agreed(ctx, d, "Remove "+counted(len(list), "environment"))
}

func entryText(e environment.Entry) string {
	return fmt.Sprintf("%s, %d MB, last used %s", e.Digest, e.Bytes/1e6, e.Used.Format("2006-01-02 15:04"))
}

func printRemoved(d *deps, word string, doc removedDocument, list []environment.Entry) error {
	if d.json {
		return printJSON(d, "env.gc", doc)
	}
	for _, e := range list {
		sayOut(d, "%s %s", word, entryText(e))
	}
	if len(doc.Surplus) > 0 && !d.env.InTerminal {
		sayErr(d, "nothing was removed: --yes removes this")
	}
	return nil
}
