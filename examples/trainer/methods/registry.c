/*
 * The methods there are, the first being the default.
 */
#include "methods/methods.h"

const settings_table *const METHODS[] = {
    &METHOD_TABLE_TCE.settings,  &METHOD_TABLE_BBRL.settings,   &METHOD_TABLE_PPO.settings,
    &METHOD_TABLE_GSDE.settings, &METHOD_TABLE_TRPL.settings,   &METHOD_TABLE_SAC.settings,
    &METHOD_TABLE_PINK.settings, &METHOD_TABLE_SAC_MP.settings, NULL
};
