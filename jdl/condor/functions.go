package condor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"strconv"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// unknowable are macros that condor_submit has of itself, beside those that are set
// for every job.
var unknowable = map[string]bool{"arch": true, "opsys": true, "opsysver": true, "opsysmajorver": true, "opsysandver": true, "is_linux": true,
	"is_windows": true, "node": true}

// function makes text of its arguments, the first of which stands for the macro of
// that name where there is one.
type function func(near *jdl.Nearby, args []string) (string, error)

var functions = map[string]function{
	"ENV": ofEnvironment, "INT": integerText, "REAL": realText, "STRING": plainText, "EVAL": plainText, "SUBSTR": substring, "CHOICE": choice,
	"RANDOM_CHOICE": randomChoice, "RANDOM_INTEGER": randomInteger,
	"BASENAME": func(_ *jdl.Nearby, args []string) (string, error) { return path.Base(args[0]), nil },
	"DIRNAME": func(_ *jdl.Nearby, args []string) (string, error) {
		dir, _ := path.Split(args[0])
		return dir, nil
	},
}

func (p *proc) call(work function, name, text string, b *budget, depth int) (string, error) {
	args := strings.Split(text, ",")
	for i := range args {
		arg := strings.TrimSpace(args[i])
		if value, ok := p.value(classad.Fold(arg)); ok && arg != "" && name != "ENV" && !strings.HasPrefix(name, "RANDOM") {
			arg = value
		}
		var err error
		if args[i], err = p.expandIn(arg, b, depth+1); err != nil {
			return "", err
		}
	}
	if name == "ENV" {
		variable, _, _ := strings.Cut(args[0], ":")
		p.asked = append(p.asked, variable)
	}
	s, err := work(p.near, args)
	if err != nil {
		return "", fmt.Errorf("$%s(%s): %w", name, text, err)
	}
	if b.left -= len(s) + costOfCall; b.left < 0 {
		return "", fmt.Errorf("macros make more than %d MB", maxText>>20)
	}
	return s, nil
}

// costOfCall is what it costs to call a function beside the length of its result.
const costOfCall = 16

// ofEnvironment is a variable of whoever submits.
func ofEnvironment(near *jdl.Nearby, args []string) (string, error) {
	name, def, has := strings.Cut(args[0], ":")
	if s := near.Getenv(name); s != "" {
		return s, nil
	}
	if !has {
		return "", fmt.Errorf("the variable is not set (HTCondor writes UNDEFINED): set it, or say $ENV(%s:VALUE)", name)
	}
	return def, nil
}

// format is a printf format of one number: its flags, width and letter.
var format = regexp.MustCompile(`^([^%]*%[-+ 0#]*[0-9]{0,3}(?:\.[0-9]{0,3})?)l{0,2}([diuxXofFeEgG])([^%]*)$`)

func numberText(args []string, letter string, as func(float64) any) (string, error) {
	n, ok := arithmetic(args[0])
	if !ok {
		return "", fmt.Errorf("%q is no number", args[0])
	}
	text := "%" + letter
	if len(args) > 1 {
		text = args[1]
	}
	m := format.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%q is no format", text)
	}
	if strings.Contains("diu", m[2]) {
		m[2] = "d"
	}
	if isInt := strings.Contains("dxXo", m[2]); isInt != (letter == "d") {
		return "", fmt.Errorf("%q is no format for this", text)
	}
	return fmt.Sprintf(m[1]+m[2]+m[3], as(n)), nil
}

func integerText(_ *jdl.Nearby, args []string) (string, error) {
	return numberText(args, "d", func(n float64) any { return int64(n) })
}

func realText(_ *jdl.Nearby, args []string) (string, error) {
	if len(args) == 1 {
		args = append(args, "%16G")
	}
	s, err := numberText(args, "g", func(n float64) any { return n })
	return strings.TrimSpace(s), err
}

// plainText is the value of an expression, as text.
func plainText(_ *jdl.Nearby, args []string) (string, error) {
	e, err := classad.ParseExpr("", []byte(args[0]))
	if err != nil {
		return "", fmt.Errorf("%q is no expression", args[0])
	}
	v := classad.NewAd().Eval(e, nil)
	if s, ok := v.Str(); ok {
		return s, nil
	}
	return classad.UnparseValue(v), nil
}

// substring is $SUBSTR(name, start, length); both may count from the end.
func substring(_ *jdl.Nearby, args []string) (string, error) {
	s, at := args[0], make([]int, len(args))
	for i, text := range args[1:] {
		n, err := strconv.Atoi(text)
		if at[i+1] = n; err != nil {
			return "", fmt.Errorf("%q is no number", text)
		}
	}
	if len(at) < 2 || len(at) > 3 {
		return "", errors.New("it wants a start and perhaps a length")
	}
	low, high := at[1], len(s)
	if low < 0 {
		low = max(0, len(s)+low)
	}
	low = min(low, len(s))
	if len(at) == 3 {
		if high = low + at[2]; at[2] < 0 {
			high = len(s) + at[2]
		}
	}
	return s[low:max(low, min(high, len(s)))], nil
}

// choice is $CHOICE(index, list).
func choice(_ *jdl.Nearby, args []string) (string, error) {
	n, ok := arithmetic(args[0])
	list := args[1:]
	if len(list) == 1 {
		list = words(list[0])
	}
	if i := int(n); ok && i >= 0 && i < len(list) {
		return strings.TrimSpace(list[i]), nil
	}
	return "", fmt.Errorf("%q is no place in the list", args[0])
}

func randomChoice(_ *jdl.Nearby, args []string) (string, error) {
	return args[rand.IntN(len(args))], nil
}

// randomInteger is $RANDOM_INTEGER(least, most, step).
func randomInteger(_ *jdl.Nearby, args []string) (string, error) {
	var n []int
	for _, text := range args {
		one, err := strconv.Atoi(text)
		if err != nil {
			return "", fmt.Errorf("%q is no number", text)
		}
		n = append(n, one)
	}
	if len(n) == 2 {
		n = append(n, 1)
	}
	if len(n) != 3 || n[1] < n[0] || n[2] < 1 {
		return "", errors.New("it wants the least, the most and perhaps a step")
	}
	return strconv.Itoa(n[0] + n[2]*rand.IntN((n[1]-n[0])/n[2]+1)), nil
}
