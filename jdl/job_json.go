package jdl

// unreadable refuses a description in a language that is not read.
func unreadable(f Format, file string) error {
	return &Diagnostic{Severity: Fatal, File: file, Code: "format", Msg: "the text is " + string(f) + ", which cannot be read as a job"}
}

func readJSON(file string, _ []byte) ([]*Ad, error)          { return nil, unreadable(FormatJSON, file) }
func readADL(file string, _ []byte, _ config) ([]*Ad, error) { return nil, unreadable(FormatADL, file) }
func readXRSL(file string, _ []byte, _ config) ([]*Ad, error) {
	return nil, unreadable(FormatXRSL, file)
}
