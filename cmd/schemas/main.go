// Command schemas writes the JSON Schemas of all documents that grid prints
// with --json into a directory, from the types of the program and the comments
// of their fields. Run it in the module's root.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gridbroker/cmd/cli"
	"gridbroker/cmd/cli/document"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: schemas DIR")
		os.Exit(2)
	}
	files, err := schemas(".")
	if err == nil {
		err = write(os.Args[1], files)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "schemas: %v\n", err)
		os.Exit(1)
	}
}

// write makes the directory hold the files and no other schema.
func write(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if _, ok := files[filepath.Base(path)]; !ok {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// schemas are the files by name, and the table of them: README.md.
func schemas(root string) (map[string][]byte, error) {
	said := &comments{root: root, of: map[string]map[string]string{}}
	files := map[string][]byte{}
	var table strings.Builder
	table.WriteString(preface)
	for _, d := range cli.Documents() {
		text, err := document.SchemaOf(d.Schema(), d.Type, said.field).Text()
		if err != nil {
			return nil, err
		}
		name := strings.Replace(d.Schema(), "/", ".", 1) + ".json"
		files[name] = text
		fmt.Fprintf(&table, "| [`%s`](%s) | %s |\n", d.Schema(), name, d.Of)
	}
	files["README.md"] = []byte(table.String())
	return files, said.err
}

const preface = `# Documents for machines

` + "`--json`" + ` makes every verb print documents instead of text: one, or a line each where a verb tells of things as they happen. Their first field,
` + "`schema`" + `, names one of the JSON Schemas (draft 2020-12) here, which are made from the program's types (` + "`make schemas`" + `); a test holds that every verb prints what they say.

* Names are in snake_case. What has a unit says it at the end of its name: ` + "`wall_time_seconds`, `max_memory_kb`, `main_memory_mb`, `cpu_clock_mhz`" + `.
* Lengths of time are seconds. Times are RFC 3339 in UTC; one that is not known is absent. What a source did not publish is absent, a list without elements is ` + "`[]`" + `.
* A "no" carries its reason: jobs that nothing takes are in ` + "`unmatched`" + ` with the whole explanation, and a verb that fails before it could print its document prints
  ` + "`grid.error/v1`" + ` with the message and the exit code.
* Within a version a document only gains fields.

## From version 1 to version 2

Documents of version 1 mixed two spellings and three units. What has changed:

| version 1 | version 2 |
|---|---|
| ` + "`wall_time`, `cpu_time`" + ` of jobs, in nanoseconds | ` + "`wall_time_seconds`, `cpu_time_seconds`" + ` |
| ` + "`predicted`, `max_memory`" + ` of jobs | ` + "`predicted_seconds`, `max_memory_kb`" + ` |
| ` + "`age` of match, `took`" + ` of services, in nanoseconds | ` + "`age_seconds`, `took_seconds`" + ` |
| ` + "`freeSlots`, `maxWallTime`, `mainMemory`, `cpuClock`" + ` and so on of resources | ` + "`free_slots`, `max_wall_time_seconds`, `main_memory_mb`, `cpu_clock_mhz`" + ` |
| ` + "`\"updated\": \"0001-01-01T00:00:00Z\"`" + ` | absent |
| ` + "`seconds_left`" + ` of credentials | ` + "`left_seconds`" + ` |
| ` + "`wait_mean`, `error_mean`, `makespan`" + ` and so on of simulations | ` + "`wait_mean_seconds`, `error_mean_seconds`, `makespan_seconds`" + ` |
| schemas ` + "`grid.store-check`, `grid.sim-queue`, `grid.submit-plan`" + ` and so on | ` + "`grid.store.check`, `grid.sim.queue`, `grid.submit.plan`" + `: the verb's words with dots |
| submit without a resource: no word of why | ` + "`unmatched`" + ` |

` + "`--where`" + ` over jobs uses the names of version 2. Snapshots of resources that an older version has saved are made anew.

## The schemas

| schema | printed by |
|---|---|
`
