/*
 * tce.h: all of libtce. Programs that use one part may include that part's header alone.
 */
#ifndef TCE_TCE_H
#define TCE_TCE_H

#include <tce/adam.h>
#include <tce/env.h>
#include <tce/gauss.h>
#include <tce/mp.h>
#include <tce/net.h>
#include <tce/normaliser.h>
#include <tce/policy.h>
#include <tce/pool.h>
#include <tce/random.h>
#include <tce/returns.h>
#include <tce/rollout.h>
#include <tce/segment.h>
#include <tce/status.h>
#include <tce/store.h>
#include <tce/trpl.h>
#include <tce/version.h>

#endif
