package sbatch

import (
	"strings"
	"testing"
)

// TestDirectivesAsSbatch has lines of options as sbatch 24.11 was seen to take them (scontrol show job), or its error.
func TestDirectivesAsSbatch(t *testing.T) {
	for line, want := range map[string]string{
		`#SBATCH-n2`:                  "ntasks=2",
		`#SBATCH--cpus-per-task=2`:    "cpus-per-task=2",
		`#SBATCHx`:                    `error: "x" is no option of sbatch`,
		`#SBATCH`:                     "",
		`# SBATCH -n 2`:               "",
		`#SBATCH -J a#b -n 2`:         "job-name=a",
		`#SBATCH -J a # it's "x`:      "job-name=a",
		`#SBATCH -J a\#b -n 2`:        "job-name=a#b|ntasks=2",
		`#SBATCH -J "a#b" -n 2`:       "job-name=a#b|ntasks=2",
		`#SBATCH --job-name=a\`:       "job-name=a",
		`#SBATCH -J a\ -n 2`:          `error: "2" is no option of sbatch`,
		`#SBATCH -J a\ b -n 2`:        "job-name=a b|ntasks=2",
		`#SBATCH -J a\\b -n 2`:        `job-name=a\b|ntasks=2`,
		`#SBATCH -J a\nb -n 2`:        "job-name=anb|ntasks=2",
		`#SBATCH -J 'a\nb\\c' -n 2`:   `job-name=anb\c|ntasks=2`,
		`#SBATCH -J "a\"b" -n 2`:      `job-name=a"b|ntasks=2`,
		`#SBATCH -J a"b c"d -n 2`:     "job-name=ab cd|ntasks=2",
		`#SBATCH -J "a'b"	-n 2`:       "job-name=a'b|ntasks=2",
		`#SBATCH -J 'a\'b -n 2`:       "error: the quote is not closed",
		`#SBATCH -J "a -n 2`:          "error: the quote is not closed",
		`#SBATCH -J it's -n 2`:        "error: the quote is not closed",
		`#SBATCH -n 2 --job-name = x`: `error: "x" is no option of sbatch`,
	} {
		var got []string
		s, err := parse("#!/bin/sh\n" + line + "\necho\n")
		for _, o := range s.options {
			got = append(got, o.name+"="+o.value)
		}
		if err != nil {
			got = []string{"error: " + err.Error()}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %s", line, got, want)
		}
	}
}
