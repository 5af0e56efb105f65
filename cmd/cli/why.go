package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

type whyDocument struct {
	Jobs []whyJob `json:"jobs"`
	unfoundIDs
}

type whyJob struct {
	ID  string   `json:"id"`
	Why []string `json:"why"` // sentences: how it is, why, what to do
}

func whyCmd(d *deps) *cobra.Command {
	sel := selection{asking: always, reads: true}
	cmd := &cobra.Command{
		Use:   "why ID...",
		Short: "Say in a few sentences why jobs are where they are, and what to do",
		Long: `Why tells why a job went where it is, why it waits or how it failed, whose fault
that was, and which command helps; of one that went well, what less it could have asked
for and what that opens.

` + selectionHelp,
		Example: "  grid why 1m7y8\n  grid why --state failed --since 1d",
	}
	sel.register(cmd)
	return jobsVerb(d, cmd, &sel, func(ctx context.Context) error { return runWhy(ctx, d, sel) })
}

func runWhy(ctx context.Context, d *deps, sel selection) error {
	return withJobs(ctx, d, sel, func(s *session, rs []*jobs.Outcome) error { return printWhy(ctx, d, s, rs) })
}

func printWhy(ctx context.Context, d *deps, s *session, rs []*jobs.Outcome) error {
	sayNone(d, rs)
	doc := whyDocument{Jobs: []whyJob{}}
	adviser := newAdviser(d, s)
	for _, r := range rs {
		theirs, told := theirReasons(ctx, s, r)
		doc.Jobs = append(doc.Jobs, whyJob{r.ID, slices.Concat(reasons(d, s, r, told), theirs, adviser.advice(ctx, r))})
	}
	if err := ctx.Err(); err != nil { // nobody was asked to the end
		return err
	}
	if d.json {
		for _, j := range doc.Jobs {
			for i, text := range j.Why {
				j.Why[i] = plainly(text)
			}
		}
		return printJSON(d, "why", doc)
	}
	for i, j := range doc.Jobs {
		if i > 0 {
			sayOut(d, "")
		}
		sayOut(d, "%s  %s", styled(d, bold, j.ID), rs[i].Name)
		for _, line := range wrapped(strings.Join(j.Why, " "), terminalWidth(d)) {
			sayOut(d, "%s", line)
		}
	}
	return nil
}

// reasons are the story of a job in sentences; told: its back-end gives its reasons behind it.
func reasons(d *deps, s *session, o *jobs.Outcome, told bool) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if n := len(o.Past); n > 0 && o.Past[n-1].Assigned != "" {
		add("It waited at %s, a tree of managers, which got it a place at %s.", firstOf(o.Past[n-1].At, o.Past[n-1].Resource), o.Past[n-1].Assigned)
	} else if n > 0 {
		last := o.Past[n-1]
		how := "ended as " + string(last.State)
		if last.Reason == "" || !strings.Contains(o.Reason, last.Reason) { // which is told below
			how += because(last.Reason)
		}
		if last.ExitCode != nil && last.State == plugins.Done {
			how = fmt.Sprintf("its exit code was %d", *last.ExitCode)
		}
		if last.State == plugins.Submitting {
			how = "the request never arrived"
		}
		add("It was tried %s before; the last time at %s, where %s.", often(n), firstOf(last.At, last.Resource), strings.Replace(how, "ended", "it ended", 1))
	}
	switch {
	case o.State == plugins.Intended:
		out = append(out, whyWaitsHere(d, s, o)...)
	case o.State == plugins.Submitting && s.jobs.Store.Alive(o.Owner):
		add("It is being sent to %s since %s, with its input files.", o.At, ago(d, o.Sent))
	case o.State == plugins.Submitting:
		add("A request for it went to %s %s, and no answer came: nobody knows yet whether it arrived.", o.At, wentAt(d, o.Sent))
		add("It is looked up there until that is sure, and sent nowhere else meanwhile: %s.", typed("status", o.ID))
	case o.Final():
		out = append(out, whyEnded(d, o)...)
		if len(o.Environments) > 0 {
			add("When it was sent there, %s.", strings.Join(o.Environments, "; "))
		}
	default:
		out = append(out, whyThere(d, o, told)...)
	}
	if o.Err != nil {
		add("Asked just now, %s could not say: %v.", firstOf(o.At, "its computing element"), o.Err)
	}
	return out
}

// often says a number of times.
func often(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// theirReasons are those of the back-end that has the job, and whether it gave any.
func theirReasons(ctx context.Context, s *session, o *jobs.Outcome) (list []string, told bool) {
	back, _ := s.backends.For(o.Handle.Interface)
	e, can := back.(plugins.Explainer)
	if !can || o.State != plugins.Queued && o.State != plugins.Running && o.State != plugins.Finishing || o.Handle.ID == "" {
		return nil, false
	}
	list, err := e.Why(ctx, o.Handle)
	if err != nil {
		return []string{fmt.Sprintf("%s did not say why: %v.", firstOf(o.At, o.Handle.Endpoint), err)}, false
	}
	for i, text := range list {
		list[i] = sentence(text)
	}
	return list, len(list) > 0
}

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

// namely is what is said of a state, behind it.
func namely(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(reason, ".")
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + strings.TrimSuffix(reason, ".") + ")"
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// whyWaitsHere tells of a job that is recorded and was not sent.
func whyWaitsHere(d *deps, s *session, o *jobs.Outcome) []string {
	switch {
	case len(o.After) > 0:
		out := []string{fmt.Sprintf("It comes after %s and is sent when these are done.", strings.Join(o.After, ", "))}
		if takes := o.Takes(); len(takes) > 0 {
			out = append(out, fmt.Sprintf("It waits for %s, which is brought when its turn has come.", jobs.TakenText(takes)))
		}
		if o.Reason != "" {
			out = append(out, sentence("now: "+o.Reason))
		}
		if followed(s) {
			return append(out, "grid follow, which is at work, sends it.")
		}
		return append(out, "Nothing sends it by itself while nobody follows: grid watch does.")
	case !o.Unmatched.IsZero():
		return []string{
			fmt.Sprintf("Since %s no resource takes it%s.", ago(d, o.Unmatched), because(o.Reason)),
			fmt.Sprintf("grid match --explain on its description tells which clause is in the way; it is planned again %s.", whenText(d, o.NotBefore)),
		}
	case jobs.OwesScript(o.Record) != "" || o.Scripts != nil && o.Scripts.NoJob:
		out := []string{"Before it is sent its PreScript runs on this machine."}
		if jobs.OwesScript(o.Record) == "" {
			out = []string{"It is a node without a job, whose scripts run on this machine."}
		}
		if o.Reason != "" {
			out = append(out, sentence("now: "+o.Reason))
		}
		return append(out, whoRuns(s))
	}
	return []string{
		"It is recorded here and was not sent.",
		fmt.Sprintf("Send it: %s.", typed("resubmit", o.ID)),
	}
}

// whoRuns says who runs a job's scripts.
func whoRuns(s *session) string {
	if followed(s) {
		return "grid follow, which is at work, does that."
	}
	return "Nobody does that by itself while nobody follows: grid watch does."
}

func whenText(d *deps, t time.Time) string {
	if length := t.Sub(d.env.Now()); length > 0 {
		return "in " + span(length)
	}
	return "at the next look"
}

// wentAt is how long ago something was done; where that would be in the future the clock was ahead then, or is behind now.
func wentAt(d *deps, t time.Time) string {
	if ahead := t.Sub(d.env.Now()); ahead >= time.Second {
		return fmt.Sprintf("(by the clock of then in %s: this machine's clock was ahead, or is behind now)", span(ahead))
	}
	return ago(d, t) + " ago"
}

// whyThere tells of a job that a computing element has; told: why it is as it is there is said elsewhere.
func whyThere(d *deps, o *jobs.Outcome, told bool) []string {
	var out []string
	chosen := fmt.Sprintf("It went to %s %s", firstOf(o.At, o.Resource), wentAt(d, o.Sent))
	if len(o.Choices) > 0 {
		next := o.Choices[0]
		chosen += fmt.Sprintf(", since it was expected to be done there first (next best: %s", firstOf(next.At, next.Resource))
		if o.Predicted > 0 && next.Predicted > o.Predicted {
			chosen += fmt.Sprintf(", %s later", inSeconds(next.Predicted-o.Predicted))
		}
		chosen += ")"
	}
	out = append(out, chosen+".")
	for _, said := range o.Environments {
		out = append(out, said+".")
	}
	switch o.State {
	case plugins.Running:
		out = append(out, fmt.Sprintf("It has been running for %s%s.", ranText(d, o), on(o.Host)))
	case plugins.Held:
		out = append(out, fmt.Sprintf("It is held%s until that is mended or %s lets it go on. grid resubmit sends it elsewhere after %s.",
			because(o.Reason), typed("release", o.ID), typed("cancel", o.ID)))
	default:
		why := namely(o.Reason)
		if told {
			why = ""
		}
		out = append(out, fmt.Sprintf("It is %s there (%s)%s.", o.State, firstOf(o.Native, string(o.State)), why))
	}
	if !o.Cancelled.IsZero() {
		return append(out, fmt.Sprintf("Its cancellation was asked for %s; %s asks for it again each minute, and waits for it.", wentAt(d, o.Cancelled), typed("watch", o.ID)))
	}
	out = append(out, whyNotYet(d, o)...)
	if o.Predicted > 0 && !o.Guessed {
		left := o.Sent.Add(time.Duration(o.Predicted * float64(time.Second))).Sub(d.env.Now())
		switch {
		case left > 0:
			out = append(out, fmt.Sprintf("It is expected to be done in %s.", span(left)))
		case o.State == plugins.Running:
			out = append(out, fmt.Sprintf("It was expected to be done %s ago.", span(-left)))
		default:
			out = append(out, fmt.Sprintf("It was expected to be done %s ago; the queue there was slower than foretold.", span(-left)))
		}
	}
	return out
}

// whyNotYet tells when a job that waits there was foretold to start.
func whyNotYet(d *deps, o *jobs.Outcome) []string {
	low, middle, high, ok := odds(o)
	if !ok || !o.Started.IsZero() || o.State == plugins.Running || o.State == plugins.Held {
		return nil
	}
	now := d.env.Now()
	switch {
	case now.Before(low):
		return []string{fmt.Sprintf("Eight of ten such jobs start there between %s and %s from now, half of them within %s.", span(low.Sub(now)), span(high.Sub(now)), span(middle.Sub(now)))}
	case now.Before(high):
		return []string{fmt.Sprintf("Nine of ten such jobs start there within %s from now.", span(high.Sub(now)))}
	}
	return []string{fmt.Sprintf("Nine of ten such jobs would have started %s ago: it waits longer than was to be expected.", span(now.Sub(high)))}
}

func on(host string) string {
	if host == "" {
		return ""
	}
	return " on " + host
}

func inSeconds(s float64) string { return span(time.Duration(s * float64(time.Second))) }

// whereOutput tells of what a job left.
func whereOutput(o *jobs.Outcome) string {
	if o.Output != "" {
		return "What it left was brought to " + o.Output + "."
	}
	return fmt.Sprintf("%s brings what it left.", typed("output", o.ID))
}

// whereSaid tells where to read what a program said of its failure: what its description keeps of that.
func whereSaid(o *jobs.Outcome) string {
	switch job, err := o.Job(); {
	case err != nil:
		return whereOutput(o)
	case job.StdError != "":
		return fmt.Sprintf("Read what it said: %s.", typed("cat", "--err", o.ID))
	case job.StdOutput != "":
		return fmt.Sprintf("Read what it said: %s; its description has no StdError, where programs tell of errors.", typed("cat", o.ID))
	}
	return "What it said is not kept: its description has neither StdError nor StdOutput."
}

// whyEnded tells how a job ended, whose fault that was, and what to do.
func whyEnded(d *deps, o *jobs.Outcome) []string {
	at := firstOf(o.At, "nowhere")
	switch {
	case o.State == plugins.Done && o.Attempts == 0 && o.Handle.ID == "": // a node of a DAG
		return []string{"It is done without a job" + firstOf(because(o.Reason), ": it has none, but scripts") + "."}
	case o.State == plugins.Done && !o.Failure():
		return []string{fmt.Sprintf("It is done: it ran %s at %s%s and ended with exit code %s. %s", ranText(d, o), at, on(o.Host), firstOf(exitText(o), "0"), whereOutput(o))}
	case o.State == plugins.Done:
		return []string{fmt.Sprintf("It ran to its end at %s%s, %s, and its own exit code was %s: %s", at, on(o.Host), ranText(d, o), exitText(o), whoseVerdict(o)), whereSaid(o)}
	case o.State == plugins.Cancelled:
		return []string{fmt.Sprintf("It was cancelled%s.", because(o.Reason))}
	case o.State == plugins.Lost:
		return []string{fmt.Sprintf("%s no longer knows it: it was removed there, or the site was set up anew. %s sends it again.", at, typed("resubmit", o.ID))}
	}
	return whyFailed(d, o, at)
}

// whoseVerdict is whether a job's exit code is its program's. ARC CEs pass on that of the launcher, which may be the program's, too.
func whoseVerdict(o *jobs.Outcome) string {
	inside := func(told string) bool { return strings.HasPrefix(told, "VEE-") }
	if o.Handle.Interface == glue.InterfaceARCREST && slices.ContainsFunc(o.Environments, inside) && exitText(o) == "125" {
		return "so a job ends there whose runtime environment the site could not make, unless the program itself did."
	}
	return "that is the program's verdict, not the site's."
}

func whyFailed(d *deps, o *jobs.Outcome, at string) []string {
	if o.Sent.IsZero() && len(o.Past) == 0 {
		return whyNeverSent(o)
	}
	out := []string{fmt.Sprintf("It failed at %s%s.", at, because(o.Reason))}
	if o.Fault == plugins.JobsFault && o.Handle.ID == "" {
		return append(out, "It cannot be given to such computing elements as it is described, and there was none of another kind. Mend the description and submit it anew.")
	}
	if o.Fault == plugins.JobsFault {
		return append(out, "That is the job's own fault: another site would do the same. Mend the description and submit it anew.")
	}
	if o.Fault == plugins.CredentialsFault {
		return append(out, fmt.Sprintf("Your credential is at fault, not the site: %s tells what is wrong with it. When that is mended, %s sends the job.", typed("auth", "doctor"), typed("resubmit", "--same", o.ID)))
	}
	if o.NoRetry {
		out = append(out, "Nothing was left to try.")
	}
	return append(out, fmt.Sprintf("%s sends it elsewhere, with --same there too; %s has what the site said.", typed("resubmit", o.ID), typed("log", o.ID)))
}

// whyNeverSent tells of a job that was given up before anything took it.
func whyNeverSent(o *jobs.Outcome) []string {
	out := []string{fmt.Sprintf("It was never sent%s.", because(o.Reason))}
	if len(o.After) == 0 {
		return append(out, fmt.Sprintf("grid match --explain on its description tells what is in the way; %s tries again.", typed("resubmit", o.ID)))
	}
	return append(out, fmt.Sprintf("It comes after %s: grid why %s tells what became of them.", strings.Join(o.After, ", "), strings.Join(o.After, " ")),
		fmt.Sprintf("When that is mended, %s goes on from where it stopped.", typed("resubmit", firstOf(o.Parent, o.ID))))
}

// width is how wide text may be.
func terminalWidth(d *deps) int {
	if d.env.Width > 20 {
		return min(d.env.Width, 100)
	}
	return 80
}

// unbroken is the space within a command: text is not broken there, and shown it is an ordinary one.
const unbroken = "\u00a0"

// typed is a command to type, to be taken from the screen as one.
func typed(words ...string) string { return "grid" + unbroken + strings.Join(words, unbroken) }

// plainly is text whose spaces are all ordinary.
func plainly(text string) string { return strings.ReplaceAll(text, unbroken, " ") }

// wrapped breaks text between words.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) && string(r) != unbroken }) {
		word = plainly(word)
		if line != "" && displayed(line)+1+displayed(word) > width-2 {
			lines, line = append(lines, "  "+line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, "  "+line)
	}
	return lines
}
