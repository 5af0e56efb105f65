package jdl

import (
	"fmt"
	"strings"

	"gridbroker/jdl/classad"
)

// matching builds Requirements and Rank: the user's expressions joined with
// what other attributes imply and with the defaults.
func matching(r *jobReader) {
	j := r.job
	j.SubmitTo = r.str("SubmitTo")
	j.FuzzyRank = r.boolean("FuzzyRank")
	for _, name := range []string{"fuzzy_factor", "FuzzyFactor"} {
		if f, ok := r.number(name); ok {
			j.FuzzyFactor = f
		}
	}
	j.Requirements = requirements(r)
	rank(r)
}

// requirements joins the clauses of a job, each once, left to right: the
// user's, those implied, the default.
func requirements(r *jobReader) classad.Expr {
	var clauses []classad.Expr
	for _, name := range []string{"Requirements", "CERequirements"} {
		if e, ok := r.matchExpr(name); ok {
			clauses = append(clauses, ownClauses(r.ad, e, map[string]bool{}))
		}
	}
	if !r.cfg.stored {
		for _, text := range implied(r) {
			clauses = append(clauses, fixedExpr(r, text))
		}
	}
	return joinClauses(clauses)
}

// ownClauses puts the clauses of an attribute of the user's own in place of a
// clause that is only its name, as pilots write them: Requirements = siteList
// && enoughTime. So each is judged and told by itself. A name is replaced
// once; those in seen have been.
func ownClauses(ad *classad.Ad, e classad.Expr, seen map[string]bool) classad.Expr {
	parts := classad.Conjuncts(e)
	if len(parts) > 1 {
		var whole classad.Expr
		for _, c := range parts {
			whole = classad.And(whole, ownClauses(ad, c, seen))
		}
		return whole
	}
	ref, ok := parts[0].(*classad.AttrRef)
	if !ok || ref.Absolute || findAttr(ref.Name) != nil || seen[classad.Fold(ref.Name)] {
		return e
	}
	x, has := ad.Expr(ref.Name)
	if !has || isConstant(ad, x, map[string]bool{}) {
		return e
	}
	seen[classad.Fold(ref.Name)] = true
	return ownClauses(ad, x, seen)
}

// matchExpr is a user's expression over resources. A string that holds an
// expression, as CREAM's CERequirements allows, is parsed.
func (r *jobReader) matchExpr(name string) (classad.Expr, bool) {
	e, ok := r.ad.Expr(name)
	if !ok || r.job.Dialect == DIRAC {
		return nil, false
	}
	s, isText := literalText(e)
	if !isText {
		return brokers(r, name, e)
	}
	parsed, err := classad.ParseExpr("", []byte(s))
	if name != "CERequirements" || err != nil {
		r.failAttr(name, "type", "remove the quotes around it", "%s is a string, not an expression", name)
		return nil, false
	}
	return brokers(r, name, parsed)
}

// brokers is what of an expression a broker can judge: CREAM passed clauses of
// CERequirements on to its batch system, in whose words they may be.
func brokers(r *jobReader, name string, e classad.Expr) (left classad.Expr, any bool) {
	if name != "CERequirements" {
		return e, true
	}
	for _, c := range classad.Conjuncts(e) {
		if word := batchWord(r.ad, c); word != "" {
			r.warn(r.pos(name), "not-used", "", "%s: %s is a word for CREAM's batch system: the clause is not used", name, word)
			continue
		}
		left = classad.And(left, c)
	}
	return left, left != nil
}

// batchWord is a name in a clause that is neither the job's nor a resource's; "": there is none.
func batchWord(ad *classad.Ad, clause classad.Expr) (word string) {
	classad.Walk(clause, func(e classad.Expr) bool {
		if _, ofResource := e.(*classad.Select); ofResource {
			return false
		}
		if ref, ok := e.(*classad.AttrRef); ok && !pseudoNames[classad.Fold(ref.Name)] && !strings.HasPrefix(classad.Fold(ref.Name), "glue") {
			if _, has := ad.Expr(ref.Name); !has {
				word = ref.Name
			}
		}
		return word == ""
	})
	return word
}

// fixedExpr parses an expression made here or given as a default.
func fixedExpr(r *jobReader, text string) classad.Expr {
	shared := r.cfg.tally
	if e, ok := shared.fixed[text]; ok {
		return e
	}
	e, err := classad.ParseExpr("", []byte(text))
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("default expression %.200s: %w", text, err))
		return classad.NewLiteral(classad.BoolValue(true))
	}
	if shared.fixed == nil {
		shared.fixed = map[string]classad.Expr{}
	}
	shared.fixed[text] = e
	return e
}

// onNode is the clause for slots of one node. What A-REX tells over REST has no
// size of nodes: where nobody says it, the resource itself judges.
const onNode = "(isUndefined(other.GlueHostArchitectureSMPSize) || other.GlueHostArchitectureSMPSize >= %d)"

// implied lists the clauses that other attributes add.
func implied(r *jobReader) []string {
	d, out := r.job.Demand, []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r.has("CPUNumber") || r.has("NodeNumber") {
		add("other.GlueCEInfoTotalCPUs >= %d", d.Slots)
	}
	if r.has("SMPGranularity") {
		add(onNode, d.SlotsPerNode)
	}
	if r.has("HostNumber") && d.Nodes > 0 && d.Slots > 1 && !d.WholeNodes {
		add(onNode, (d.Slots+d.Nodes-1)/d.Nodes)
	}
	if lrms := r.str("BatchSystem"); lrms != "" {
		add("other.GlueCEInfoLRMSType == %s", Quote(lrms))
	}
	if se := r.strs("OutputSE"); len(se) > 0 && r.job.Dialect != DIRAC {
		add("member(%s, other.GlueCESEBindGroupSEUniqueID)", Quote(se[0]))
	}
	out = append(out, diracPlaces(r)...)
	if r.job.Dialect == DIRAC {
		return out
	}
	if r.boolean("ShortDeadlineJob") {
		add(`regexp("sdj$", other.GlueCEUniqueID)`)
	}
	if !r.cfg.stored {
		add("%s", gliteRequirements)
	}
	return out
}

// placeNames are DIRAC's attributes that say where a job may run. Jobs of other
// systems' users have them beside gLite's Rank and Requirements: they hold there too.
var placeNames = []string{"Site", "BannedSites", "BannedSite", "GridCE", "GridRequiredCEs"}

// diracPlaces turns placeNames into clauses. DIRAC's site names have a grid's
// name in front and a country's at the end; the part between them is tried as
// well. In gLite's dialect a name that an expression of the user's uses is the
// user's own.
func diracPlaces(r *jobReader) []string {
	var out []string
	if sites := places(r, "Site"); len(sites) > 0 {
		out = append(out, "member(other.GlueSiteUniqueID, "+quoteList(siteNames(sites))+")")
	}
	if sites := append(places(r, "BannedSites"), places(r, "BannedSite")...); len(sites) > 0 {
		out = append(out, "member(other.GlueSiteUniqueID, "+quoteList(siteNames(sites))+") isnt true")
	}
	for _, name := range []string{"GridCE", "GridRequiredCEs"} {
		switch ces := places(r, name); len(ces) {
		case 0:
		case 1:
			out = append(out, "other.GlueCEInfoHostName == "+Quote(ces[0]))
		default:
			out = append(out, "member(other.GlueCEInfoHostName, "+quoteList(ces)+")")
		}
	}
	return out
}

// places are the names that one of placeNames gives; none: any place will do.
func places(r *jobReader, name string) []string {
	if !r.has(name) || r.job.Dialect != DIRAC && references(r.ad)[classad.Fold(name)] {
		return nil
	}
	var out []string
	for _, s := range r.strs(name) {
		out = append(out, splitNames(s)...)
	}
	if len(out) > 0 && classad.EqualFold(out[0], "ANY") {
		return nil
	}
	return out
}

func siteNames(sites []string) []string {
	var out []string
	for _, s := range sites {
		out = append(out, s)
		if parts := strings.Split(s, "."); len(parts) == 3 {
			out = append(out, parts[1])
		}
	}
	return out
}

func quoteList(ss []string) string {
	quoted := make([]string, len(ss))
	for i, s := range ss {
		quoted[i] = Quote(s)
	}
	return "{" + strings.Join(quoted, ", ") + "}"
}

// Quote writes s as a string of the language.
func Quote(s string) string { return classad.Unparse(classad.NewLiteral(classad.StringValue(s))) }

// joinClauses joins expressions with &&, leaving out the literal true and
// whatever is there already.
func joinClauses(clauses []classad.Expr) classad.Expr {
	var whole classad.Expr
	seen := map[string]bool{}
	for _, c := range clauses {
		texts := conjunctTexts(c)
		if allSeen(seen, texts) || isTrueLiteral(c) {
			continue
		}
		for _, t := range texts {
			seen[t] = true
		}
		if whole == nil {
			whole = c
			continue
		}
		whole = &classad.Binary{Op: classad.OpAnd, X: whole, Y: c}
	}
	if whole == nil {
		return classad.NewLiteral(classad.BoolValue(true))
	}
	return whole
}

func conjunctTexts(e classad.Expr) []string {
	var out []string
	for _, c := range classad.Conjuncts(e) {
		out = append(out, classad.Fold(classad.Unparse(c)))
	}
	return out
}

func allSeen(seen map[string]bool, texts []string) bool {
	for _, t := range texts {
		if !seen[t] {
			return false
		}
	}
	return true
}

func isTrueLiteral(e classad.Expr) bool {
	l, ok := e.(*classad.Literal)
	return ok && l.Value.IsTrue()
}

// rank reads Rank and chooses DefaultRank.
func rank(r *jobReader) {
	j := r.job
	if e, ok := r.matchExpr("Rank"); ok {
		j.Rank = e
		dataRank(r, e)
	}
	text := gliteRank
	if r.has("CPUNumber") {
		text = "other.GlueCEStateFreeCPUs"
	}
	if e, ok := r.ad.Expr("DefaultRank"); ok {
		j.DefaultRank = e
	} else if !r.cfg.stored {
		j.DefaultRank = fixedExpr(r, text)
	}
}

// dataRank checks the rule of other.DataAccessCost.
func dataRank(r *jobReader, e classad.Expr) {
	uses := false
	classad.Walk(e, func(e classad.Expr) bool {
		s, ok := e.(*classad.Select)
		uses = uses || ok && classad.EqualFold(s.Name, "DataAccessCost")
		return true
	})
	if !uses {
		return
	}
	if _, alone := e.(*classad.Select); !alone {
		r.failAttr("Rank", "rank", "", "Rank: other.DataAccessCost must stand alone")
	}
	if len(r.job.InputData) == 0 || !r.has("DataAccessProtocol") {
		r.failAttr("Rank", "rank", "", "Rank: other.DataAccessCost needs InputData and DataAccessProtocol")
	}
}
