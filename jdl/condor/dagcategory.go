package condor

import (
	"strconv"
	"strings"
)

// Nodes of a category share a limit: no more than MAXJOBS of them are at a site at once. A category of a splice is its own,
// as its nodes are, unless its name begins with "+".

// readCategory reads "CATEGORY node name".
func readCategory(d *dagReader, rest string, line int) {
	words := strings.Fields(rest)
	if len(words) != 2 {
		d.fail(line, "CATEGORY node name", "CATEGORY is not understood")
		return
	}
	if f := d.splices[words[0]]; f != nil && f.external {
		d.tell(line, "CATEGORY of %s is not used: say it of its nodes, in its file", words[0])
		return
	}
	for _, n := range d.meant(words[0], line) {
		n.category = categoryName(d, words[1])
	}
}

// maxJobs reads "MAXJOBS category count".
func maxJobs(d *dagReader, rest string, line int) {
	words := strings.Fields(rest)
	if len(words) != 2 {
		d.fail(line, "MAXJOBS category count", "MAXJOBS is not understood")
		return
	}
	most, err := strconv.Atoi(words[1])
	switch name := categoryName(d, words[0]); {
	case err != nil || most < 0:
		d.fail(line, "", "MAXJOBS: %s is no count", words[1])
	case most == 0:
		d.fail(line, "leave MAXJOBS out where there is no limit", "MAXJOBS %s 0: no node of it would ever run", words[0])
	case d.most[name] != 0 && d.most[name] != most:
		d.tell(line, "MAXJOBS %s was %d before, and is %d", words[0], d.most[name], most)
		fallthrough
	default:
		d.most[name] = most
	}
}

// categoryName is what a category is called in the DAG as a whole.
func categoryName(d *dagReader, name string) string {
	if strings.HasPrefix(name, "+") {
		return name
	}
	return d.prefix + name
}
