package condor

import (
	"path"
	"strconv"
	"strings"
	"time"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// The commands that DAGMan runs on the machine of whoever submits, before and behind the job of a node, are PreScript and
// PostScript of the node here.

// scripted reports whether commands run for the node.
func (n *dagNode) scripted() bool { return n.pre != nil || n.post != nil }

// readScript reads "SCRIPT [DEFER code seconds] [DEBUG file STDOUT|STDERR|ALL] PRE|POST|HOLD node command [arguments]".
func readScript(d *dagReader, rest string, line int) {
	s, words := jdl.Script{}, strings.Fields(rest)
	wrong := func() {
		d.fail(line, "SCRIPT [DEFER code seconds] [DEBUG file ALL] PRE|POST node command [arguments]", "%s is not understood", strings.TrimSpace("SCRIPT "+strings.Join(words, " ")))
	}
	if len(words) > 3 && classad.EqualFold(words[0], "defer") {
		code, bad := strconv.Atoi(words[1])
		seconds, worse := strconv.Atoi(words[2])
		if bad != nil || worse != nil || code < 1 || code > maxExit || seconds < 1 || seconds > 1e6 {
			d.fail(line, "SCRIPT DEFER code seconds PRE ...", "SCRIPT: DEFER %s %s is not understood", words[1], words[2])
			return
		}
		s.Again, s.AgainAfter, words = code, time.Duration(seconds)*time.Second, words[3:]
	}
	if len(words) > 3 && classad.EqualFold(words[0], "debug") {
		s.Log = words[1]
		streams := classad.Fold(words[2])
		s.LogOut, s.LogErr = streams != "stderr", streams != "stdout"
		if streams != "stdout" && streams != "stderr" && streams != "all" {
			d.fail(line, "", "SCRIPT: DEBUG %s: it is STDOUT, STDERR or ALL", words[2])
			return
		}
		words = words[3:]
	}
	if len(words) < 3 {
		wrong()
		return
	}
	when := classad.Fold(words[0])
	s.Command, s.Args = words[2], words[3:]
	switch when {
	case "hold":
		d.meant(words[1], line)
		d.tell(line, "SCRIPT HOLD is not used: nobody looks after jobs on hold")
	case "pre", "post":
		for _, n := range scriptNodes(d, words[1], line) {
			setScript(d, n, when == "pre", s, line)
		}
	default:
		wrong()
	}
}

// setScript gives a node one of its scripts.
func setScript(d *dagReader, n *dagNode, pre bool, s jdl.Script, line int) {
	at, word := &n.post, "POST"
	if pre {
		at, word = &n.pre, "PRE"
	}
	if *at != nil {
		d.tell(line, "node %s: the SCRIPT %s before this one is not used", n.name, word)
	}
	if pre && *at != nil {
		s.Skip = (*at).Skip
	}
	*at = &s
}

// preSkip reads "PRE_SKIP node code".
func preSkip(d *dagReader, rest string, line int) {
	words := strings.Fields(rest)
	if len(words) != 2 {
		d.fail(line, "PRE_SKIP node code", "PRE_SKIP is not understood")
		return
	}
	code, err := strconv.Atoi(words[1])
	if err != nil || code < 0 || code > maxExit {
		d.fail(line, "PRE_SKIP node code", "PRE_SKIP: %s is no exit code", words[1])
		return
	}
	for _, n := range scriptNodes(d, words[0], line) {
		n.skip = code
	}
}

// readEnv reads "ENV GET NAME ..." and "ENV SET NAME=value;...", where another first character than one of a name parts.
func readEnv(d *dagReader, rest string, line int) {
	word, rest := cutWord(rest)
	switch {
	case rest == "":
	case classad.EqualFold(word, "get"):
		for _, name := range strings.Fields(rest) {
			if value := d.parser.near.Getenv(name); value != "" {
				d.env = append(d.env, jdl.EnvVar{Name: name, Value: value})
			}
		}
	case classad.EqualFold(word, "set"):
		rest = strings.Trim(rest, `"`)
		part := ";"
		if first := rest[:min(1, len(rest))]; first != "" && strings.TrimLeftFunc(classad.Fold(first), inVarName) != "" {
			part, rest = first, rest[1:]
		}
		for _, set := range strings.Split(rest, part) {
			name, value, ok := strings.Cut(strings.TrimSpace(set), "=")
			if !ok && set != "" || ok && name == "" {
				d.fail(line, "ENV SET NAME=value;OTHER=value", "ENV: %.60s is not understood", set)
				return
			}
			if ok {
				d.env = append(d.env, jdl.EnvVar{Name: name, Value: value})
			}
		}
	}
	if rest == "" || !classad.EqualFold(word, "get") && !classad.EqualFold(word, "set") {
		d.fail(line, "ENV GET NAME, or ENV SET NAME=value", "ENV is not understood")
	}
}

// putScripts writes the scripts of a node into the record of its job.
func putScripts(d *dagReader, n *dagNode, b *jdl.Builder, made map[string]string) {
	dir := d.near.In(n.dir).Path(".")
	put := func(name string, s *jdl.Script) {
		if s.Dir, s.Env = dir, d.env; s.Log != "" {
			s.Log = d.near.In(n.dir).Path(s.Log)
		}
		b.Ad.Put(classad.Attr{Name: name, Expr: classad.Placed(s.Record(), b.Pos), NamePos: b.Pos})
		if !strings.HasPrefix(s.Command, "/") && !d.near.In(n.dir).Has(s.Command) {
			d.tell(n.line, "node %s: %s is not here yet", n.name, s.Command)
		}
	}
	if n.pre != nil {
		pre := *n.pre
		pre.Skip = n.skip
		put("PreScript", &pre)
	}
	if n.post == nil {
		return
	}
	post := *n.post
	for at, name := range made {
		if at == anyOf(at) {
			post.Rest = path.Dir(at)
		} else if !strings.Contains(name, "=") && name != "" {
			if post.Files == nil {
				post.Files = map[string]string{}
			}
			post.Files[name] = at
		}
	}
	put("PostScript", &post)
}

// again is what RETRY says of a DAG within this one: it goes on where it had failed, which gives its nodes their tries once more.
func (f *dagFile) again(times int64) {
	for _, n := range f.nodes {
		n.retries = (n.retries+1)*(times+1) - 1
	}
}
