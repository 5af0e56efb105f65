package condor

import (
	"slices"
	"strconv"
	"strings"
)

// sequence is what the program seq writes for whole numbers, the one program that descriptions begin most: it is counted
// here and not run. false where the command is another, or one that counts otherwise.
func sequence(command string) ([]string, bool) {
	words := strings.Fields(command)
	if len(words) < 2 || len(words) > 4 || words[0] != "seq" && words[0] != "/usr/bin/seq" && words[0] != "/bin/seq" {
		return nil, false
	}
	var numbers []int
	for _, w := range words[1:] {
		n, err := strconv.Atoi(w)
		if err != nil || w[0] == '+' || n > 1e15 || n < -1e15 {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	first, step, last := 1, 1, numbers[len(numbers)-1]
	if len(numbers) > 1 {
		first = numbers[0]
	}
	if len(numbers) > 2 {
		step = numbers[1]
	}
	if step == 0 {
		return nil, false
	}
	var rows []string
	for n := first; (n <= last) == (step > 0) || n == last; n += step {
		if rows = append(rows, strconv.Itoa(n)); len(rows) > maxProcs {
			break // more than are allowed: the caller says so
		}
	}
	return slices.Clip(rows), true
}
