package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/jdl"
	"gridbroker/jdl/adl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/condor"
	"gridbroker/jdl/formats"
	"gridbroker/jdl/sbatch"
	"gridbroker/jdl/xrsl"
	"gridbroker/jobs"
)

func jdlConvertCmd(d *deps) *cobra.Command {
	c := &converter{deps: d, said: map[string]bool{}}
	cmd := &cobra.Command{
		Use:   "convert --to adl|xrsl|sbatch|condor|json|jdl FILE",
		Short: "Write a job description in another language",
		Long: `Reads JDL, xRSL, ADL, JSON, an HTCondor submit description or a script for Slurm
("-": standard input; told apart by how they begin, unless --from names one) and
writes the jobs in another language: adl (EMI-ES Activity Description Language, as
A-REX takes it), xrsl (for arcsub), sbatch (a script for Slurm), condor (a submit description for HTCondor), json (the record of each job), jdl (everything filled in).

What the other language cannot say is an error that names the attribute; with
--lossy it is left out with a warning. What tells a broker what to do, as
Requirements, Rank and RetryCount, is left out with a warning always; what
Requirements demand (times, memory, software) is written.

Several jobs make one text, but for sbatch: --out names a directory then, and
each job gets a file of its own in it; for a DAG also submit.sh, which submits
them in order.`,
		Example: `  grid jdl convert --to adl job.jdl
  grid jdl convert --to jdl old.xrsl > new.jdl
  grid jdl convert --to sbatch --out scripts/ sweep.jdl`,
		Args: usageArgs(cobra.ExactArgs(1)),
	}
	f := cmd.Flags()
	f.StringVar(&c.to, "to", "", "`language` to write: adl, xrsl, sbatch, condor, json or jdl")
	f.StringVar(&c.from, "from", "", "`language` of FILE: jdl, xrsl, adl, json, condor, dagman or sbatch")
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions([]string{"jdl", "xrsl", "adl", "json", "condor", "dagman", "sbatch"}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&c.out, "out", "", "write to this `file`, or for sbatch directory, instead of standard output")
	f.BoolVar(&c.stageIn, "stage-in", false, "sbatch: copy the input files at the start of the script")
	f.BoolVar(&c.lossy, "lossy", false, "leave out what the other language cannot say, with a warning")
	f.BoolVar(&c.noFiles, "no-files", false, "do not look whether the input files exist")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions([]string{"adl", "xrsl", "sbatch", "condor", "json", "jdl"}, cobra.ShellCompDirectiveNoFileComp))
	dialect := dialectFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		dialect, err := parseDialect(*dialect)
		if err != nil {
			return err
		}
		return c.run(args[0], dialect)
	}
	return cmd
}

type converter struct {
	*deps
	to, from, out    string
	stageIn, noFiles bool
	lossy            bool
	said             map[string]bool // warnings
}

func (c *converter) run(path string, d jdl.Dialect) error {
	if c.to == "" {
		return usageError(errors.New("say the language to write with --to: adl, xrsl, sbatch, condor, json or jdl"))
	}
	opts := []jdl.Option{jdl.WithDialect(d)}
	if c.noFiles {
		opts = append(opts, jdl.WithoutFiles())
	}
	set, err := c.read(path, opts)
	if err != nil {
		return err
	}
	sayWarnings(c.deps, set)
	if c.to == "sbatch" {
		return c.scripts(set)
	}
	text, err := c.convert(set)
	if err != nil {
		return usageError(err)
	}
	return c.write(text)
}

func (c *converter) read(path string, opts []jdl.Option) (*jdl.JobSet, error) {
	if c.from == "" {
		return readJobFile(c.deps, path, opts...)
	}
	switch f := formats.Format(c.from); f {
	case formats.JDL, formats.XRSL, formats.ADL, formats.JSON, formats.Condor, formats.DAGMan, formats.Sbatch:
		name, text, err := readText(c.deps, path)
		if err != nil {
			return nil, err
		}
		return formats.ParseJobsAs(f, name, text, append(jobOptions(c.deps, path), opts...)...)
	}
	return nil, usageError(fmt.Errorf("--from %s: it is jdl, xrsl, adl, json, condor, dagman or sbatch", c.from))
}

func (c *converter) write(text []byte) error {
	if c.out == "" || c.out == "-" {
		return printText(c.deps, "jdl.convert", c.to, string(text))
	}
	if err := writeWhole(abs(c.deps, c.out), text, 0o644); err != nil || !c.json {
		return err
	}
	return printJSON(c.deps, "jdl.convert", textDocument{Language: c.to, Files: []string{abs(c.deps, c.out)}})
}

// taken refuses what only JDL can say: that a node takes files of others, and has scripts. With --lossy they
// are left out.
func (c *converter) taken(set *jdl.JobSet) error {
	for i, j := range set.Jobs {
		for _, d := range scriptLosses(j) {
			if !c.lossy {
				return d
			}
			d.Severity = classad.Warning
			c.warn([]*classad.Diagnostic{d})
		}
		taken := j.Taken()
		if len(taken) == 0 {
			continue
		}
		d := j.Loss("InputSandbox", "copy the file in the job's own script", "only JDL can say that %s takes %s", j.Node, jobs.TakenText(taken))
		if !c.lossy {
			return d
		}
		d.Severity = classad.Warning
		c.warn([]*classad.Diagnostic{d})
		without := *j
		without.InputSandbox = slices.DeleteFunc(slices.Clone(j.InputSandbox), func(f jdl.InputFile) bool { return f.From.Node != "" })
		set.Jobs[i] = &without
	}
	return nil
}

func (c *converter) convert(set *jdl.JobSet) ([]byte, error) {
	if c.to != "jdl" && c.to != "json" {
		if err := c.taken(set); err != nil {
			return nil, err
		}
	}
	switch c.to {
	case "adl":
		c.losses(set, adl.Losses, adl.Written)
		for _, j := range set.Jobs {
			c.warn(adl.Notes(j, filepath.Dir(abs(c.deps, j.File))))
		}
		return c.each(set, func(j *jdl.Job) ([]byte, error) { return adl.Write(j, adl.Options{Lossy: c.lossy, Alone: true}) }, adl.Bulk)
	case "xrsl":
		c.losses(set, xrsl.Losses, xrsl.Written)
		return c.each(set, func(j *jdl.Job) ([]byte, error) { return xrsl.Write(j, xrsl.Options{Lossy: c.lossy}) }, xrsl.Bulk)
	case "condor":
		c.losses(set, condor.Losses, condor.Written)
		return c.each(set, func(j *jdl.Job) ([]byte, error) { return condor.Write(j, condor.Options{Lossy: c.lossy}) }, condor.Bulk)
	case "json":
		return toJSON(set)
	case "jdl":
		return []byte(set.Text()), nil
	}
	return nil, fmt.Errorf("--to %s: it is adl, xrsl, sbatch, condor, json or jdl", c.to)
}

// losses warns, each once, of what is left out: what a broker acts on, but for
// what the language has a word for all the same, and what it cannot say.
func (c *converter) losses(set *jdl.JobSet, of func(*jdl.Job) []*classad.Diagnostic, written func(*jdl.Job) []string) {
	if set.MaxRunning > 0 {
		d := set.Jobs[0].Loss("Max_Nodes_Running", "", "only JDL can say that no more than %s run at once", counted(set.MaxRunning, "job"))
		d.Severity = classad.Warning
		c.warn([]*classad.Diagnostic{d})
	}
	limited := map[string]bool{}
	for _, j := range set.Jobs {
		out := j.BrokerOnly(written(j)...)
		if j.MaxInCategory > 0 && !limited[j.Category] {
			limited[j.Category] = true
			d := j.Loss("MaxCategoryRunning", "", "only JDL can say that no more than %s of category %s run at once", counted(j.MaxInCategory, "job"), j.Category)
			d.Severity = classad.Warning
			out = append(out, d)
		}
		if c.lossy {
			out = append(out, of(j)...)
		}
		c.warn(out)
	}
}

// warn says each warning once.
func (c *converter) warn(list []*classad.Diagnostic) {
	for _, d := range list {
		if text := d.Error(); !c.said[text] {
			c.said[text] = true
			sayErr(c.deps, "warning: %s", passage(text))
		}
	}
}

// each writes every job, and joins them when there are several.
func (c *converter) each(set *jdl.JobSet, write func(*jdl.Job) ([]byte, error), join func(...[]byte) []byte) ([]byte, error) {
	var texts [][]byte
	for _, j := range set.Jobs {
		if len(j.After) > 0 {
			d := j.Loss("Dependencies", "", "only JDL can say that %s waits for %s", j.Node, strings.Join(j.After, ", "))
			if !c.lossy {
				return nil, d
			}
			d.Severity = classad.Warning
			c.warn([]*classad.Diagnostic{d})
		}
		text, err := write(j)
		if err != nil {
			return nil, ofJob(j, err)
		}
		texts = append(texts, text)
	}
	if len(texts) == 1 {
		return texts[0], nil
	}
	return join(texts...), nil
}

// ofJob names the job in an error that does not begin with its name, as those of a file of that name do.
func ofJob(j *jdl.Job, err error) error {
	if strings.HasPrefix(err.Error(), j.Name+":") {
		return err
	}
	return fmt.Errorf("%s: %w", j.Name, err)
}

// toJSON writes the record of each job; where there is more to say than these do, as the order
// of a DAG, one record of all, as JDL has it.
func toJSON(set *jdl.JobSet) ([]byte, error) {
	var body any = set.Jobs[0].Ad
	switch {
	case set.Kind == jdl.DAG || set.Name != "" || set.MaxRunning > 0 || set.Collocated:
		ad, err := classad.ParseAd("", []byte(set.Text()))
		if err != nil {
			return nil, err
		}
		body = ad
	case len(set.Jobs) > 1:
		var ads []*classad.Ad
		for _, j := range set.Jobs {
			ads = append(ads, j.Ad)
		}
		body = ads
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(body)
	return out.Bytes(), err
}

// scripts writes one script, or one for each job into a directory.
func (c *converter) scripts(set *jdl.JobSet) error {
	if err := c.taken(set); err != nil {
		return usageError(err)
	}
	c.losses(set, sbatch.Losses, func(*jdl.Job) []string { return nil })
	inDir := strings.HasSuffix(c.out, "/")
	if fi, err := os.Stat(abs(c.deps, c.out)); c.out != "" && err == nil && fi.IsDir() {
		inDir = true
	}
	if len(set.Jobs) > 1 && (c.out == "" || c.out == "-") {
		return usageError(fmt.Errorf("%d jobs are %d scripts: name a directory with --out", len(set.Jobs), len(set.Jobs)))
	}
	texts := make([][]byte, len(set.Jobs))
	for i, j := range set.Jobs {
		var err error
		if texts[i], err = sbatch.Write(j, sbatch.Options{StageIn: c.stageIn, Lossy: c.lossy}); err != nil {
			return usageError(ofJob(j, err))
		}
	}
	if len(set.Jobs) == 1 && !inDir {
		return c.write(texts[0])
	}
	return c.scriptDir(set, texts)
}

// scriptDir writes the scripts into the directory --out, which is made.
func (c *converter) scriptDir(set *jdl.JobSet, texts [][]byte) error {
	dir := abs(c.deps, c.out)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := make([]string, len(texts))
	for i, text := range texts {
		files[i] = scriptName(i, set.Jobs[i])
		if err := writeWhole(filepath.Join(dir, files[i]), text, 0o755); err != nil {
			return err
		}
	}
	if set.Kind == jdl.DAG {
		if err := writeWhole(filepath.Join(dir, "submit.sh"), sbatch.Dependent(set, files), 0o755); err != nil {
			return err
		}
		files = append(files, "submit.sh")
	}
	if !c.json {
		return nil
	}
	for i, name := range files {
		files[i] = filepath.Join(dir, name)
	}
	return printJSON(c.deps, "jdl.convert", textDocument{Language: c.to, Files: files})
}

// scriptName is a plain name of a file for a job's script.
func scriptName(i int, j *jdl.Job) string {
	plain := func(r rune) rune {
		if r < 128 && (r == '-' || r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}
	node := strings.Map(plain, j.Node)
	return fmt.Sprintf("%04d-%.60s.sh", i, node)
}
