package condor

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gridbroker/jdl/classad"
)

// queue reads "queue [N] [names] [in|from|matching [slice] items]".
func (p *parser) queue(text string, number int) {
	count := 1
	refer(p.about, text)
	for _, c := range p.late {
		p.put(c)
	}
	p.newCluster()
	if n, rest, ok := p.count(text); ok {
		if count, text = n, rest; n < 0 {
			p.fail(number, "", "queue %d", n)
		}
	}
	names, how, items := cutItems(text)
	if strings.TrimSpace(text) != "" && how == "" {
		p.fail(number, "queue 10; queue x in (a, b); queue x, y from FILE; queue x matching *.dat", "queue %s is not understood", text)
		return
	}
	p.empty = true
	if how == "" {
		p.add(p.sheet(), count, nil, nil, number)
		return
	}
	if len(names) == 0 {
		names = []string{"item"}
	}
	kind, items := cutKind(how, items)
	slice, items, ok := cutSlice(items)
	if !ok {
		p.fail(number, "[0:10], [::2], [-3:]", "queue: the slice is not understood")
		return
	}
	if kind == "" {
		kind, items = cutKind(how, items)
	}
	rows, sheet := p.rows(how, kind, items, number), p.sheet()
	for row, item := range rows {
		if !slice.has(row, len(rows)) {
			continue
		}
		values := []string{item}
		if how == "from" {
			values = cells(item, len(names))
			p.tellGap(number, row, item, names, values)
		}
		for len(values) < len(names) {
			values = append(values, "")
		}
		p.add(sheet, count, names, append(values, strconv.Itoa(row)), number)
	}
}

// tellGap tells that a row leaves a variable empty that is not one of the last, as condor_submit does: a comma with blanks
// before it parts two values there.
func (p *parser) tellGap(number, row int, item string, names, values []string) {
	if i := slices.Index(values, ""); i >= 0 && strings.Join(values[i:], "") != "" {
		p.tell(number, "row %d of queue, %q, leaves %s empty, as for HTCondor (blanks before a comma part values, too)", row, item, names[i])
	}
}

// newCluster begins one where a queue statement has another executable than the one before, as condor_submit does: by its text,
// whatever that means for a job.
func (p *parser) newCluster() {
	program := ""
	if i, set := p.sheet().index["executable"]; set {
		program = p.set[i].value
	}
	if p.queued && program != p.program {
		p.cluster, p.first = p.cluster+1, len(p.procs)
	}
	p.queued, p.program = true, program
}

// counting is a word of an expression of numbers: no name, and no number in the writing of others.
var counting = regexp.MustCompile(`^(?:[0-9.]+(?:[eE][0-9]+)?|[-+*/%()<>=!?:&|\s])+$`)

// count takes a number, or an expression of numbers with blanks in it or not, off the front.
func (p *parser) count(text string) (n int, rest string, ok bool) {
	word, rest := cutWord(text)
	if word != "" && p.constant(word) == "" { // a macro that is not set
		return 1, rest, true
	}
	sum, rest := "", text
	for rest != "" {
		word, after := cutWord(rest)
		if strings.HasPrefix(word, "$") { // a function may have blanks in it
			word, after = cutCall(rest)
		}
		made := p.constant(word)
		if !counting.MatchString(made) {
			break
		}
		sum, rest = sum+" "+made, after
	}
	number, ok := arithmetic(strings.TrimSpace(sum))
	if !ok || math.IsNaN(number) {
		return 0, text, false
	}
	return int(min(max(number, -1), maxProcs+1)), rest, true
}

// cutCall takes a macro or function with what follows it to the next blank off the front.
func cutCall(s string) (call, rest string) {
	_, _, after, ok := cutMacro(s)
	if !ok {
		return cutWord(s)
	}
	more := strings.IndexAny(after+" ", " \t")
	return s[:len(s)-len(after)+more], strings.TrimSpace(after[more:])
}

// arithmetic is the value of an expression that refers to nothing.
func arithmetic(s string) (float64, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return float64(n), true
	}
	e, err := classad.ParseExpr("", []byte(s))
	if err != nil {
		return 0, false
	}
	v := classad.NewAd().Eval(e, nil)
	if _, truth := v.Bool(); truth {
		return 0, false
	}
	return v.Number()
}

// constant replaces macros that are set so far.
func (p *parser) constant(s string) string {
	b := proc{sheet: p.sheet(), near: p.near}
	out, err := b.expand(s, &p.left)
	if err != nil {
		return s
	}
	return out
}

// cutItems takes "x, y in (a b" apart.
func cutItems(text string) (names []string, how, items string) {
	rest := text
	for rest != "" {
		word, after := cutWord(rest)
		low := classad.Fold(strings.Trim(word, ","))
		if i := strings.IndexAny(low, "(["); i > 0 { // in(a b)
			low, after = low[:i], strings.TrimSpace(word[i:]+" "+after)
		}
		switch low {
		case "in", "from", "matching":
			return names, low, after
		case "":
		default:
			names = append(names, strings.FieldsFunc(low, func(r rune) bool { return r == ',' })...)
		}
		rest = after
	}
	return names, "", ""
}

// slice is "[low:high:step]", as in Python, but that a negative step takes the same rows in the same order as a positive one.
type slice struct {
	low, high, step *int
}

func cutSlice(items string) (s slice, rest string, ok bool) {
	inside, found := strings.CutPrefix(items, "[")
	if !found {
		return s, items, true
	}
	inside, rest, ok = strings.Cut(inside, "]")
	parts := strings.Split(inside, ":")
	if !ok || len(parts) > 3 {
		return s, rest, false
	}
	for i, at := range []**int{&s.low, &s.high, &s.step}[:len(parts)] {
		if text := strings.TrimSpace(parts[i]); text != "" {
			n, err := strconv.Atoi(text)
			if *at = &n; err != nil || i == 2 && n == 0 {
				return s, rest, false
			}
		}
	}
	return s, strings.TrimSpace(rest), true
}

func (s slice) has(row, of int) bool {
	place := func(at *int, def int) int {
		switch {
		case at == nil:
			return def
		case *at < 0:
			return max(0, of+*at)
		}
		return *at
	}
	low, step := place(s.low, 0), 1
	if s.step != nil {
		step = max(*s.step, -*s.step)
	}
	return row >= low && row < place(s.high, of) && (row-low)%step == 0
}

// rows are the items of a queue statement: in the description itself, in a file, or
// the names of files.
func (p *parser) rows(how, kind, items string, number int) []string {
	inline, here := strings.CutPrefix(items, "(")
	switch {
	case how == "matching":
		return p.matching(kind, items, number)
	case here:
		return p.items(how, inline, number)
	case how == "in":
		return words(items)
	case items == "-":
		p.fail(number, "let it be a file and say: queue x from FILE", "queue from - is not supported: a description is read again, and standard input is not")
		return nil
	case strings.HasSuffix(items, "|"):
		if rows, ok := sequence(p.constant(strings.TrimSuffix(items, "|"))); ok {
			return rows
		}
		p.fail(number, "let it write a file and say: queue x from FILE", "queue from a program is not supported")
		return nil
	}
	name := p.constant(items)
	text, err := nearby(p, p.near, name, number)
	if err != nil {
		p.fail(number, "", "queue from %s: %v", name, err)
		return nil
	}
	list := newSource(name, text)
	var rows []string
	for {
		row, _, ok := list.line()
		if !ok {
			return rows
		}
		if rows = append(rows, row); row == "" || row[0] == '#' {
			p.tell(number, "line %d of %s is %q: HTCondor makes a job of it, too", len(rows), name, row)
		}
	}
}

// cutKind takes what is to be matched off the front: it may stand before a slice or behind it.
func cutKind(how, items string) (kind, rest string) {
	word, rest := cutWord(items)
	if kind = classad.Fold(word); how == "matching" && (kind == "files" || kind == "dirs" || kind == "any") {
		return kind, rest
	}
	return "", items
}

// matching are the files and directories that patterns match, each once.
func (p *parser) matching(kind, items string, number int) []string {
	patterns := words(items)
	if inline, ok := strings.CutPrefix(items, "("); ok {
		patterns = p.items("in", inline, number)
	}
	var rows []string
	seen := map[string]bool{}
	for _, pattern := range patterns {
		found, err := p.near.Glob(p.constant(pattern))
		if err != nil {
			p.fail(number, "", "queue matching %s: %v", pattern, err)
			return nil
		}
		before := len(rows)
		for _, name := range found {
			if dir := strings.HasSuffix(name, "/"); (kind == "files" && dir) || (kind == "dirs" && !dir) || seen[name] {
				continue
			}
			seen[name] = true
			rows = append(rows, name)
		}
		if len(rows) == before {
			p.unmatched = pattern
			p.tell(number, "queue matching %s: nothing more matches", pattern)
		}
	}
	return rows
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}

// items reads the list of a queue statement, which ends at ")".
func (p *parser) items(how, first string, number int) []string {
	var rows []string
	text, closed := strings.CutSuffix(strings.TrimSpace(first), ")")
	row := strings.TrimSpace(text) != ""
	for {
		switch {
		case how != "from":
			rows = append(rows, words(text)...)
		case row:
			rows = append(rows, strings.TrimSpace(text))
		}
		if closed || len(rows) > maxProcs {
			return rows
		}
		line, at, ok := p.next()
		if !ok {
			p.fail(number, "", "the list of queue is not closed by ) in a line of its own")
			return nil
		}
		text, closed = line, line == ")"
		if row = !closed && !strings.HasPrefix(line, "#"); !row {
			text = ""
		}
		if line == "" && how == "from" {
			p.tell(at, "an empty line in the list of queue: HTCondor makes a job of it, too")
		}
	}
}

// cells are the values of a row: one ends at a blank or at a comma, of which that and the blanks behind it are left
// out, the last takes the rest. So the second of "a , b" is empty where there are three, as it is for condor_submit.
func cells(row string, n int) []string {
	out := make([]string, n)
	row = strings.TrimSpace(row)
	for k := range n - 1 {
		i := strings.IndexAny(row, " \t,")
		if i < 0 {
			out[k] = row
			return out
		}
		out[k], row = row[:i], strings.TrimLeft(row[i+1:], " \t")
	}
	out[n-1] = row
	return out
}

// add queues jobs; the last of values is the number of the row.
func (p *parser) add(sheet *sheet, count int, names, values []string, number int) {
	now := p.near.Now()
	for step := range count {
		if len(p.procs) >= maxProcs {
			p.fail(number, "", "more than %d jobs", maxProcs)
			return
		}
		n, cluster := strconv.Itoa(len(p.procs)-p.first), strconv.Itoa(p.cluster)
		m := map[string]string{"process": n, "procid": n, "cluster": cluster, "clusterid": cluster, "step": strconv.Itoa(step), "dollar": "$", "itemindex": "0", "row": "0", "submit_file": p.text.name,
			"year": now.Format("2006"), "month": now.Format("01"), "day": now.Format("02"), "submit_time": strconv.FormatInt(now.Unix(), 10)}
		for i, name := range names {
			m[name] = values[i]
		}
		if len(values) > 0 {
			m["itemindex"] = values[len(values)-1]
			m["row"] = m["itemindex"]
		}
		p.procs = append(p.procs, proc{sheet, m, classad.Pos{Line: p.outerLine(number), Col: 1}, p.near, nil, false})
	}
}
