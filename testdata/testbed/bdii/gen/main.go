// Command gen writes an invented grid as LDIF, in GLUE 1.3 and in GLUE 2.0,
// with a manifest of what is true of it.
//
//	go run ./testdata/testbed/bdii/gen -sites 300 -out DIR
//
// Everything follows from -seed and -sites; job counts, free slots and waiting
// times also from -epoch: the same grid at another time. Some records are
// spoilt in the ways that production information systems are; -clean leaves
// that out. Hosts are below example.org (RFC 2606).
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	sites := flag.Int("sites", 10, "number of `sites`")
	seed := flag.Uint64("seed", 1, "seed of everything")
	epoch := flag.Uint64("epoch", 0, "seed of the dynamic state")
	out := flag.String("out", ".", "`directory` for glue1.ldif, glue2.ldif and manifest.json")
	now := flag.Int64("now", 0, "creation `time` of the records, in Unix seconds (default: now)")
	clean := flag.Bool("clean", false, "spoil nothing")
	flag.Parse()
	at := time.Now()
	if *now != 0 {
		at = time.Unix(*now, 0)
	}
	g := newGrid(*seed, *epoch, *sites, at.UTC().Truncate(time.Second), *clean)
	if err := write(*out, g); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write makes the three files.
func write(dir string, g *grid) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	m := newManifest(g)
	for name, each := range map[string]func(*ldif, *site){"glue1.ldif": writeGlue1, "glue2.ldif": writeGlue2} {
		entries, err := writeLDIF(filepath.Join(dir, name), g, each)
		if err != nil {
			return err
		}
		m.Entries[name] = entries
	}
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "manifest.json"), append(text, '\n'), 0o644)
}

func writeLDIF(path string, g *grid, each func(*ldif, *site)) (entries int, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	l := &ldif{w: bufio.NewWriterSize(f, 1<<20), now: g.now}
	for _, s := range g.sites {
		each(l, s)
	}
	if err := l.w.Flush(); err != nil {
		f.Close()
		return 0, err
	}
	return l.entries, f.Close()
}
