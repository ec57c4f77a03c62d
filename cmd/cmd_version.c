/* cmd/cmd_version.c - the version and the commit that was built; the Makefile gives both */

#include "cmd/cmd.h"

const char *cmd_version(void)
{
	return NNUTILS_VERSION " (" NNUTILS_COMMIT ")";
}
