# templates.awk: the files named on the command line as C: the table C_TEMPLATES of c_file.h, one string per line of a file.
# Written for any awk; a file becomes an array of lines, since C99 allows no string longer than 4,095 characters.

BEGIN {
    print "#include \"export/c_file.h\"\n"
}

FNR == 1 {
    if (n++)
        print "    NULL,\n};\n"
    name[n] = FILENAME
    sub(/.*\//, "", name[n])
    print "static const char *const LINES_" n "[] = {"
}

{
    # "&&" doubles what was found; a backslash in a replacement means something else to every awk
    gsub(/\\/, "&&")
    count = split($0, piece, "\"")
    line = piece[1]
    for (i = 2; i <= count; i++)
        line = line "\\\"" piece[i]
    print "    \"" line "\","
}

END {
    print "    NULL,\n};\n"
    print "const c_template C_TEMPLATES[] = {"
    for (i = 1; i <= n; i++)
        print "    { \"" name[i] "\", LINES_" i " },"
    print "    { NULL, NULL },\n};"
}
