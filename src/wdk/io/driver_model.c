/* SPDX-License-Identifier: MIT */
/*
 * Keeps the list of driver models other than WDM: see driver.h. A model is never removed from the list, so readers need
 * no lock.
 */
#include <stdatomic.h>

#include "wdk/io/driver.h"

static _Atomic(struct driver_model *) models;

void driver_add_model(struct driver_model *model)
{
    model->next = atomic_load(&models);
    while (!atomic_compare_exchange_weak(&models, &model->next, model))
        ;
}

bool models_start(PDRIVER_OBJECT driver)
{
    for (struct driver_model *m = atomic_load(&models); m; m = m->next)
        if (m->start && !m->start(driver))
            return false;
    return true;
}

void models_entry_failed(PDRIVER_OBJECT driver)
{
    for (struct driver_model *m = atomic_load(&models); m; m = m->next)
        if (m->entry_failed)
            m->entry_failed(driver);
}

void models_before_remove(PDRIVER_OBJECT driver)
{
    for (struct driver_model *m = atomic_load(&models); m; m = m->next)
        if (m->before_remove)
            m->before_remove(driver);
}

bool models_can_remove(PDRIVER_OBJECT driver)
{
    for (struct driver_model *m = atomic_load(&models); m; m = m->next)
        if (m->can_remove && !m->can_remove(driver))
            return false;
    return true;
}

void models_remove(PDRIVER_OBJECT driver)
{
    for (struct driver_model *m = atomic_load(&models); m; m = m->next)
        if (m->remove)
            m->remove(driver);
}
