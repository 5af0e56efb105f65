package condor

import (
	"strconv"
	"strings"

	"gridbroker/jdl/classad"
)

// readFinal reads "FINAL name file [DIR directory] [NOOP]": the node that runs when all
// others have ended, whatever they ended with.
func readFinal(d *dagReader, rest string, line int) {
	switch {
	case d.prefix != "":
		d.fail(line, "", "FINAL: a DAG within another one has none")
		return
	case d.last != nil:
		d.fail(line, "", "there is a FINAL node already: %s", d.last.name)
		return
	}
	before := len(d.all)
	if d.job("FINAL", rest, line); d.err != nil || len(d.all) == before {
		return
	}
	d.last = d.all[before]
	if d.last.done {
		d.tell(line, "a FINAL node cannot be DONE")
		d.last.done = false
	}
}

// finalText refuses in the FINAL node macros that DAGMan sets when the DAG has ended.
func finalText(d *dagReader, n *dagNode, src []byte) bool {
	if n != d.last {
		return true
	}
	texts := []string{string(src)}
	for _, c := range append(n.early[:len(n.early):len(n.early)], n.late...) {
		texts = append(texts, c.value)
	}
	for _, text := range texts {
		text = classad.Fold(text)
		for _, name := range []string{"dag_status", "failed_count"} {
			if strings.Contains(text, "$("+name) {
				d.fail(n.line, "let the job ask: grid list --group ID --exit '!=0'", "node %s: $(%s) is known only when the DAG has ended, and jobs are described before", n.name, strings.ToUpper(name))
				return false
			}
		}
	}
	return true
}

// abortOn reads "ABORT-DAG-ON node code [RETURN code]".
func abortOn(d *dagReader, rest string, line int) {
	words := strings.Fields(rest)
	wrong := func(what string) {
		d.fail(line, "ABORT-DAG-ON node code [RETURN code]", "ABORT-DAG-ON%s is not understood", what)
	}
	if len(words) != 2 && (len(words) != 4 || !classad.EqualFold(words[2], "return")) {
		wrong("")
		return
	}
	code, err := strconv.Atoi(words[1])
	if err != nil {
		wrong(": " + words[1])
		return
	}
	if code < 0 || code > maxExit {
		d.fail(line, "", "ABORT-DAG-ON: %d is no exit code of a job: they are 0 to %d", code, maxExit)
		return
	}
	if len(words) == 4 {
		if value, err := strconv.Atoi(words[3]); err != nil || value < 0 || value > maxExit {
			wrong(": RETURN " + words[3])
			return
		}
		d.tell(line, "RETURN is not used: what follows a DAG ends with 0 where all went well, and else with 1")
	}
	for f := d.dagFile; f != nil; f = f.outer {
		if f.external {
			d.tell(line, "ABORT-DAG-ON of a node of SUBDAG %s: it ends the whole DAG, and not that SUBDAG alone", strings.TrimSuffix(f.prefix, "+"))
			break
		}
	}
	for _, n := range d.meant(words[0], line) {
		switch {
		case n != d.last:
			n.abort = &code
		case !classad.EqualFold(words[0], "all_nodes"):
			d.fail(line, "", "ABORT-DAG-ON: when the FINAL node %s has ended nothing is left to end", n.name)
		}
	}
}
